#include "scheduler/card_annotations.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "dialect/table.h"

namespace stowage::scheduler {
namespace {

constexpr const char* kUnknownKey =
    "what the pod says about its cards is signed by a key that is not known here; it does not "
    "count until the key is";

}  // namespace

CardAnnotations::Answer CardAnnotations::read(Testimony& testimony, const Bound& bound) {
  using Trouble = Testimony::Word::Trouble;
  const bool drifted = testimony.drifted();
  Testimony::Sight sight{.object = bound.object,
                         .pod = bound.pod,
                         .node = bound.node,
                         .born_bound = bound.created_bound};
  if (signatures_.keys()) {
    sight.proof = [&] { return signatures_.proof_of(bound.object, bound.check); };
    sight.must_be_ours = bound.is_ours && signatures_.placed_since_signing(bound.object);
  }
  Answer answer{.word = testimony.hear(sight, hash_key_)};
  if (drifted) --drifted_;
  if (testimony.drifted()) ++drifted_;
  Testimony::Word& word = answer.word;
  if (word.trouble == Trouble::unread) {
    answer.notice = notice_of(Notice::Kind::unread_cards, bound.object, word.message);
  } else if (word.trouble != Trouble::none && !word.told) {
    if (signatures_.has_unknown_key(bound.object.uid)) word.message = kUnknownKey;
    const bool drift = word.trouble == Trouble::drift;
    ++(drift ? drifts_ : forged_);
    answer.notice =
        notice_of(drift ? Notice::Kind::drift : Notice::Kind::forged, bound.object, word.message);
  }
  return answer;
}

std::optional<Notice> CardAnnotations::check_forged(Testimony& testimony, const Unbound& unbound) {
  std::vector<std::string> keys = dialect::scheduler_annotations(unbound.object);
  std::erase_if(keys, [&](const std::string& key) {
    if (key != dialect::kGpusAnnotation) {
      return !unbound.first || (!unbound.is_ours && !unbound.created);
    }
    if (!unbound.is_ours && unbound.promises_count && !unbound.created) return true;
    return !testimony.forged(unbound.object, hash_key_);
  });
  if (keys.empty()) return std::nullopt;
  ++forged_;
  return notice_of(
      Notice::Kind::forged, unbound.object,
      fmt::format("the scheduler alone writes {}; what the pod brought along is "
                  "ignored{}",
                  base::join(keys, " and "), unbound.is_ours ? " and will be replaced" : ""));
}

}  // namespace stowage::scheduler
