// The kinds of pods that arrive, and how often: a bounded table with decaying weights, so that the
// policy follows a changing mix. Learned only from arrivals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/ledger/ledger.h"
#include "core/place/shape.h"

namespace stowage::core {

// One kind of pod: pods of equal shape.
struct PodKind {
  std::string key;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t cards = 0;
  double gpus = 0;  // demand in cards: the larger of the compute and memory share, per card
  bool constrained = false;  // accepts only some models
  std::vector<GpuPart> parts;
  double weight = 0;         // arrivals, decayed
  std::int64_t running = 0;  // pods of this kind that we placed and that have not left

  [[nodiscard]] bool accepts(std::uint16_t model) const;
};

class Demand {
 public:
  static constexpr std::size_t kMaxKinds = 1024;
  // After this many arrivals the weight of an observation is halved.
  static constexpr double kHalfLife = 10000;

  struct Seen {
    std::uint32_t kind = 0;
    bool new_share = false;  // a share size that has not arrived before
  };
  Seen arrived(const Shape& shape, const Ledger& ledger);
  // The number of a kind that is in the table.
  [[nodiscard]] std::optional<std::uint32_t> known(const std::string& shape_key) const;
  // The number of this kind of pod, without counting an arrival.
  std::uint32_t kind_of(const Shape& shape, const Ledger& ledger);

  [[nodiscard]] const std::vector<PodKind>& kinds() const { return kinds_; }
  // The weight of the kind, in current arrivals.
  [[nodiscard]] double weight(const PodKind& kind) const { return kind.weight / unit_; }
  void set_running(std::uint32_t kind, std::int64_t delta) { kinds_[kind].running += delta; }
  [[nodiscard]] std::uint64_t arrivals() const { return arrivals_; }

 private:
  std::vector<PodKind> kinds_;
  std::unordered_map<std::string, std::uint32_t> by_key_;  // lookup only
  std::vector<std::uint64_t> share_sizes_;                 // sorted: milli and MiB of shares seen
  double unit_ = 1;                                        // weight of one arrival now
  std::uint64_t arrivals_ = 0;
};

// True if an empty node of this class could hold a pod of this kind.
[[nodiscard]] bool fits_empty(const PodKind& kind, const NodeClass& node_class);

}  // namespace stowage::core
