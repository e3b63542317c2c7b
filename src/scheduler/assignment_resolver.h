// Decides which cards of a bound pod count, from the annotations of the pod. The first valid
// annotation wins: later edits do not change the cards.
//
//   ours (stowage.dev/gpus)    counts if we wrote it, or if one of our keys signed it. One that is
//                              older than all signatures counts if it is present when the pod is
//                              first seen on its node, unless the author of the pod wrote it
//   others' (of a dialect)     count where ours does not, from when they can be read until they
//                              change; an agent that has not finished may still change them
//
// If our annotation is required and is not valid, the annotations of other schedulers do not count
// either: the author of the pod may have edited both. After a restart, all pods are seen for the
// first time. A pod needs 32 bytes: texts are remembered by a hash with a secret key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/keyed_hash.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

class AssignmentResolver {
 public:
  // We wrote these annotations on the pod, with its binding or before it.
  void wrote(const dialect::Annotations& annotations, const base::HashKey& key);
  // Another replica may write the annotations from now on, as long as the pod is not on a node.
  void forget_wrote();

  // The pod is on no node yet and carries our annotation, which we did not write. That text never
  // counts. Returns true the first time.
  [[nodiscard]] bool untrusted(const dialect::PodObject& object, const base::HashKey& key);

  struct Observation {
    const dialect::PodObject& object;
    const core::PodSpec& pod;
    const core::NodeSpec* node = nullptr;  // null: not known
    // The pod was created on its node, so no scheduler has chosen cards.
    bool created_bound = false;
    // Checks whether our annotation is signed; called only where it matters. Null: unknown, and the
    // rules of `too_old` apply.
    enum class Proof : std::uint8_t { good, too_old, bad };
    std::function<Proof()> proof = {};
    bool must_be_ours = false;  // only we place it: an unsigned annotation does not count
  };
  struct Resolution {
    // Unset: no annotation names cards, or it does not count. Cards that are known stay known.
    std::optional<core::Assignment> cards;
    // The annotations that `cards` were read from, if they have indexes and no ids; else empty.
    dialect::Annotations by_index;
    enum class Trouble : std::uint8_t { none, unread, untrusted, mismatch };
    Trouble trouble = Trouble::none;
    bool told = false;    // reported before
    std::string message;  // why the annotation does not count
  };
  [[nodiscard]] Resolution resolve(const Observation& observation, const base::HashKey& key);

  // Reports the newest text that does not count once more, because the keys have changed.
  void forget_reported() { reported_ = 0; }

  // The cards come from an annotation that we or another replica wrote.
  [[nodiscard]] bool ours() const { return seen_ && ours_ != 0; }
  // The annotations now differ from those that count.
  [[nodiscard]] bool mismatched() const { return mismatched_; }

 private:
  [[nodiscard]] bool trusts(const Observation& observation, std::uint64_t mark, bool first) const;
  [[nodiscard]] Resolution resolve_ours(const Observation& observation, std::uint64_t said,
                                        std::uint64_t mark);
  [[nodiscard]] Resolution resolve_without_ours(const Observation& observation,
                                                const base::HashKey& key, std::uint64_t mark,
                                                bool first);
  [[nodiscard]] Resolution resolve_others(const Observation& observation, const base::HashKey& key);
  [[nodiscard]] Resolution deviates(Resolution::Trouble trouble, std::uint64_t said,
                                    std::string message);

  std::uint64_t ours_ = 0;      // hash of our annotation that counts; 0: none
  std::uint64_t others_ = 0;    // hash of others' annotations, once they could be read; 0: not yet
  std::uint64_t reported_ = 0;  // mark_of() of the newest text that does not count
  bool seen_ = false;           // seen on its node
  bool final_ = false;
  bool mismatched_ = false;
};

}  // namespace stowage::scheduler
