// What the annotations of a pod say about its cards, and what of it counts: the rules of Testimony
// with the proof of signatures, and counts of what was edited or forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/keyed_hash.h"
#include "scheduler/notice.h"
#include "scheduler/signatures.h"
#include "scheduler/testimony.h"

namespace stowage::scheduler {

class CardAnnotations {
 public:
  // `signatures` outlives it.
  explicit CardAnnotations(Signatures& signatures) : signatures_(signatures) {}

  struct Bound {
    const dialect::PodObject& object;
    const core::PodSpec& pod;
    const core::NodeSpec* node;  // null: not known
    bool created_bound;          // just now, on its node
    bool is_ours;                // of one of our profiles
    const Signatures::Checked& check;
  };
  struct Answer {
    Testimony::Word word;
    std::optional<Notice> notice;
  };
  [[nodiscard]] Answer read(Testimony& testimony, const Bound& bound);

  // What only we write, on a pod that is not placed yet: its author wrote it. Where promises are
  // heeded, we or another replica of ours may have written the cards before the bind, on a pod of
  // another scheduler; and pods that we refused are marked.
  struct Unbound {
    const dialect::PodObject& object;
    bool first;    // it was not seen before
    bool created;  // just now
    bool is_ours;  // of one of our profiles
    bool promises_count;
  };
  [[nodiscard]] std::optional<Notice> check_forged(Testimony& testimony, const Unbound& unbound);

  // We have written these annotations on the pod: they are ours, whoever edits them.
  void wrote(Testimony& testimony, const dialect::Annotations& annotations) const {
    testimony.wrote(annotations, hash_key_);
  }
  void forget(const Testimony& testimony) {
    if (testimony.drifted()) --drifted_;
  }

  [[nodiscard]] std::size_t drifted() const { return drifted_; }
  [[nodiscard]] std::uint64_t drifts() const { return drifts_; }
  [[nodiscard]] std::uint64_t forged() const { return forged_; }

 private:
  Signatures& signatures_;
  base::HashKey hash_key_ = base::random_hash_key();
  std::size_t drifted_ = 0;   // bound pods that say other cards than those that count
  std::uint64_t drifts_ = 0;  // times that annotations of bound pods were edited
  std::uint64_t forged_ = 0;  // pods that came with annotations that only we write
};

}  // namespace stowage::scheduler
