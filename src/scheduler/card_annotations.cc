#include "scheduler/card_annotations.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "dialect/table.h"

namespace stowage::scheduler {
namespace {

constexpr const char* kUnknownKey =
    "the annotations about the pod's cards are signed by an unknown key; they are ignored until "
    "the key is known";

}  // namespace

CardAnnotations::Answer CardAnnotations::read(AssignmentResolver& resolver, const Bound& bound) {
  using Trouble = AssignmentResolver::Resolution::Trouble;
  const bool mismatched = resolver.mismatched();
  AssignmentResolver::Observation observation{.object = bound.object,
                                              .pod = bound.pod,
                                              .node = bound.node,
                                              .created_bound = bound.created_bound};
  if (signatures_.keys()) {
    observation.proof = [&] { return signatures_.proof_of(bound.object, bound.check); };
    observation.must_be_ours = bound.is_ours && signatures_.placed_since_signing(bound.object);
  }
  Answer answer{.resolution = resolver.resolve(observation, hash_key_)};
  if (mismatched) --mismatched_;
  if (resolver.mismatched()) ++mismatched_;
  AssignmentResolver::Resolution& resolution = answer.resolution;
  if (resolution.trouble == Trouble::unread) {
    answer.notice = notice_of(Notice::Kind::unread_cards, bound.object, resolution.message);
  } else if (resolution.trouble != Trouble::none && !resolution.told) {
    if (signatures_.has_unknown_key(bound.object.uid)) resolution.message = kUnknownKey;
    const bool mismatch = resolution.trouble == Trouble::mismatch;
    ++(mismatch ? edits_ : untrusted_);
    answer.notice =
        notice_of(mismatch ? Notice::Kind::annotation_mismatch : Notice::Kind::untrusted,
                  bound.object, resolution.message);
  }
  return answer;
}

std::optional<Notice> CardAnnotations::check_untrusted(AssignmentResolver& resolver,
                                                       const Unbound& unbound) {
  std::vector<std::string> keys = dialect::scheduler_annotations(unbound.object);
  std::erase_if(keys, [&](const std::string& key) {
    if (key != dialect::kGpusAnnotation) {
      return !unbound.first || (!unbound.is_ours && !unbound.created);
    }
    if (!unbound.is_ours && unbound.pre_allocations_count && !unbound.created) return true;
    return !resolver.untrusted(unbound.object, hash_key_);
  });
  if (keys.empty()) return std::nullopt;
  ++untrusted_;
  return notice_of(
      Notice::Kind::untrusted, unbound.object,
      fmt::format(
          "only the scheduler writes {}; the values that the pod was created with are ignored{}",
          base::join(keys, " and "), unbound.is_ours ? " and will be replaced" : ""));
}

}  // namespace stowage::scheduler
