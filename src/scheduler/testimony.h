// What a pod on a node says about its cards, and what of it counts. The first word does: whoever
// edits annotations later moves nobody.
//
//   ours (stowage.dev/gpus)    counts if we wrote it, or if it is signed by one of our keys; what
//                              is older than all signatures, if it is there when the pod is first
//                              seen on its node, unless the pod's author had put it there
//   others' (of a dialect)     count where ours does not, from when they can be read until they
//                              change; but an agent that has not settled yet may change its word
//
// What others wrote does not count either where our own word must be there and is not good: what
// the dialect's scheduler would write, an author may have edited with it. After a restart all pods
// are seen for the first time. A pod needs 32 bytes: texts are remembered by a hash under a key
// that nobody outside knows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/keyed_hash.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

class Testimony {
 public:
  // We have written these on the pod: with its binding, or before it.
  void wrote(const dialect::Annotations& annotations, const base::HashKey& key);
  // Another one may write instead of us, as long as the pod is not on a node.
  void forget_wrote();

  // The pod is on no node yet and carries our annotation, which we did not write: that text never
  // counts. True the first time.
  [[nodiscard]] bool forged(const dialect::PodObject& object, const base::HashKey& key);

  struct Sight {
    const dialect::PodObject& object;
    const core::PodSpec& pod;
    const core::NodeSpec* node = nullptr;  // null: not known
    // It was created on its node: no scheduler has chosen any cards.
    bool born_bound = false;
    // Whether our annotation is signed; asked only where it matters. Null: nobody can tell, and the
    // rules of `too_old` hold.
    enum class Proof : std::uint8_t { good, too_old, bad };
    std::function<Proof()> proof = {};
    bool must_be_ours = false;  // nobody but us places it: what is not signed does not count
  };
  struct Word {
    // Unset: nobody has said, or what is said does not count. Cards that are known stay as known.
    std::optional<core::Assignment> cards;
    enum class Trouble : std::uint8_t { none, unread, forged, drift };
    Trouble trouble = Trouble::none;
    bool told = false;    // the same was heard before
    std::string message;  // of the trouble
  };
  [[nodiscard]] Word hear(const Sight& sight, const base::HashKey& key);

  // The newest text that does not count may be heard once more: there are other keys.
  void doubt_again() { told_ = 0; }

  // Its cards are those of an answer that we, or another replica, gave.
  [[nodiscard]] bool ours() const { return seen_ && ours_ != 0; }
  // What the pod says now is not what counts.
  [[nodiscard]] bool drifted() const { return drifted_; }

 private:
  [[nodiscard]] bool believes(const Sight& sight, std::uint64_t mark, bool first) const;
  [[nodiscard]] Word hear_ours(const Sight& sight, std::uint64_t said, std::uint64_t mark);
  [[nodiscard]] Word hear_without_ours(const Sight& sight, const base::HashKey& key,
                                       std::uint64_t mark, bool first);
  [[nodiscard]] Word hear_others(const Sight& sight, const base::HashKey& key);
  [[nodiscard]] Word deviates(Word::Trouble trouble, std::uint64_t said, std::string message);

  std::uint64_t ours_ = 0;    // hash of our annotation as it counts; 0: none does
  std::uint64_t others_ = 0;  // hash of what others wrote, once it could be read; 0: not yet
  std::uint64_t told_ = 0;    // mark of the newest text that does not count, see mark_of()
  bool seen_ = false;         // on its node
  bool settled_ = false;
  bool drifted_ = false;
};

}  // namespace stowage::scheduler
