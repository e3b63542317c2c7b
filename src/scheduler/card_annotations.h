// Applies the rules of AssignmentResolver to the annotations of pods, with signature checks, and
// counts edited and untrusted annotations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/keyed_hash.h"
#include "scheduler/assignment_resolver.h"
#include "scheduler/notice.h"
#include "scheduler/signatures.h"

namespace stowage::scheduler {

class CardAnnotations {
 public:
  // `signatures` outlives it.
  explicit CardAnnotations(Signatures& signatures) : signatures_(signatures) {}

  struct Bound {
    const dialect::PodObject& object;
    const core::PodSpec& pod;
    const core::NodeSpec* node;  // null: not known
    bool created_bound;          // the watch reported it created on its node
    bool is_ours;                // belongs to one of our profiles
    const Signatures::Checked& check;
  };
  struct Answer {
    AssignmentResolver::Resolution resolution;
    std::optional<Notice> notice;
  };
  [[nodiscard]] Answer read(AssignmentResolver& resolver, const Bound& bound);

  // Annotations that only we write, on a pod that is not bound yet: the author of the pod wrote
  // them. There are two exceptions. If pre-allocations are enabled, a replica of ours may have
  // written cards on a pod of another scheduler before the bind. Pods that we refused carry a mark.
  struct Unbound {
    const dialect::PodObject& object;
    bool first;    // not seen before
    bool created;  // the watch reported it created
    bool is_ours;  // belongs to one of our profiles
    bool pre_allocations_count;
  };
  [[nodiscard]] std::optional<Notice> check_untrusted(AssignmentResolver& resolver,
                                                      const Unbound& unbound);

  // We wrote these annotations on the pod: they count even if they are edited later.
  void wrote(AssignmentResolver& resolver, const dialect::Annotations& annotations) const {
    resolver.wrote(annotations, hash_key_);
  }
  void forget(const AssignmentResolver& resolver) {
    if (resolver.mismatched()) --mismatched_;
  }

  [[nodiscard]] std::size_t mismatched() const { return mismatched_; }
  [[nodiscard]] std::uint64_t edits() const { return edits_; }
  [[nodiscard]] std::uint64_t untrusted() const { return untrusted_; }

 private:
  Signatures& signatures_;
  base::HashKey hash_key_ = base::random_hash_key();
  std::size_t mismatched_ = 0;   // bound pods whose annotations differ from those that count
  std::uint64_t edits_ = 0;      // edits of annotations of bound pods
  std::uint64_t untrusted_ = 0;  // pods that were created with annotations that only we write
};

}  // namespace stowage::scheduler
