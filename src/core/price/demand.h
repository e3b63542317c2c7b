// What kinds of pods come, and how often: a bounded table, fading over time so that the policy
// follows a mix that shifts. Learned from arrivals alone.
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
  double gpus = 0;           // demand in cards: the larger of compute and memory share, per card
  bool constrained = false;  // accepts only some models
  std::vector<GpuPart> parts;
  double weight = 0;         // arrivals, faded
  std::int64_t running = 0;  // pods of this kind that we placed and that have not left

  [[nodiscard]] bool accepts(std::uint16_t model) const;
};

class Demand {
 public:
  static constexpr std::size_t kMaxKinds = 1024;
  // After this many arrivals an observation counts half.
  static constexpr double kHalfLife = 10000;

  struct Seen {
    std::uint32_t kind = 0;
    bool new_share = false;  // a size of share that never came before
  };
  Seen arrived(const Shape& shape, const Ledger& ledger);
  // The number of a kind that came before and is not forgotten.
  [[nodiscard]] std::optional<std::uint32_t> known(const std::string& shape_key) const;
  // The number of this kind of pod, without counting an arrival.
  std::uint32_t slot_for(const Shape& shape, const Ledger& ledger);

  [[nodiscard]] const std::vector<PodKind>& kinds() const { return kinds_; }
  // How often the kind came, in arrivals of today.
  [[nodiscard]] double weight(const PodKind& kind) const { return kind.weight / unit_; }
  void set_running(std::uint32_t kind, std::int64_t delta) { kinds_[kind].running += delta; }
  [[nodiscard]] std::uint64_t arrivals() const { return arrivals_; }

 private:
  std::vector<PodKind> kinds_;
  std::unordered_map<std::string, std::uint32_t> by_key_;  // lookup only
  std::vector<std::uint64_t> share_sizes_;                 // sorted: milli and MiB of shares seen
  double unit_ = 1;                                        // what one arrival weighs now
  std::uint64_t arrivals_ = 0;
};

// Could a node of this class hold a pod of this kind if it were empty?
[[nodiscard]] bool fits_empty(const PodKind& kind, const NodeClass& node_class);

}  // namespace stowage::core
