#include "scheduler/assignment_resolver.h"

#include <utility>

#include <fmt/format.h>

#include "dialect/decision.h"
#include "dialect/index_only.h"

namespace stowage::scheduler {
namespace {

constexpr std::size_t kShown = 256;  // longest text that a message quotes

std::uint64_t hash_of(std::string_view text, const base::HashKey& key) {
  const std::uint64_t hash = base::keyed_hash(key, text);
  return hash == 0 ? 1 : hash;  // 0 means none
}

const std::string* text_of_ours(const dialect::Annotations& annotations) {
  const auto found = annotations.find(std::string(dialect::kGpusAnnotation));
  return found == annotations.end() ? nullptr : &found->second;
}

std::uint64_t hash_of_ours(const dialect::Annotations& annotations, const base::HashKey& key) {
  const std::string* text = text_of_ours(annotations);
  return text == nullptr ? 0 : hash_of(*text, key);
}

// Hash of our annotation together with its signature; 0: none.
std::uint64_t mark_of(const dialect::Annotations& annotations, const base::HashKey& key) {
  const std::string* text = text_of_ours(annotations);
  if (text == nullptr) return 0;
  const auto signature = annotations.find(std::string(dialect::kSignatureAnnotation));
  return signature == annotations.end() ? hash_of(*text, key)
                                        : hash_of(*text + '\n' + signature->second, key);
}

std::string shown(std::string_view text) {
  if (text.size() <= kShown) return std::string(text);
  return std::string(text.substr(0, kShown)) + "...";
}

std::string mismatch_sentence(const std::string* now) {
  const std::string what = now == nullptr ? "was removed" : fmt::format("now says {}", shown(*now));
  return fmt::format(
      "the annotation {} {} after the pod was bound; the pod keeps the cards that it was given",
      dialect::kGpusAnnotation, what);
}

std::string untrusted_sentence(bool unsigned_one) {
  return unsigned_one ? fmt::format(
                            "the annotation {} has no signature of the scheduler for this pod and "
                            "node; it is ignored",
                            dialect::kGpusAnnotation)
                      : fmt::format(
                            "only the scheduler writes the annotation {}; the pod was created with "
                            "it, and it is ignored",
                            dialect::kGpusAnnotation);
}

}  // namespace

void AssignmentResolver::wrote(const dialect::Annotations& annotations, const base::HashKey& key) {
  if (seen_) return;
  ours_ = hash_of_ours(annotations, key);
}

void AssignmentResolver::forget_wrote() {
  if (!seen_) ours_ = 0;
}

bool AssignmentResolver::untrusted(const dialect::PodObject& object, const base::HashKey& key) {
  const std::uint64_t said = hash_of_ours(object.annotations, key);
  const std::uint64_t mark = mark_of(object.annotations, key);
  if (said == 0 || said == ours_ || mark == reported_) return false;
  reported_ = mark;
  return true;
}

bool AssignmentResolver::trusts(const Observation& observation, std::uint64_t mark,
                                bool first) const {
  if (mark == reported_) return false;  // already reported
  const auto proof = observation.proof ? observation.proof() : Observation::Proof::too_old;
  if (proof == Observation::Proof::too_old) return first && !observation.created_bound;
  return proof == Observation::Proof::good;
}

AssignmentResolver::Resolution AssignmentResolver::resolve(const Observation& observation,
                                                           const base::HashKey& key) {
  const std::uint64_t said = hash_of_ours(observation.object.annotations, key);
  const std::uint64_t mark = mark_of(observation.object.annotations, key);
  const bool first = !std::exchange(seen_, true);
  if (ours_ == 0 && said != 0 && trusts(observation, mark, first)) ours_ = said;
  mismatched_ = false;
  if (ours_ != 0) return resolve_ours(observation, said, mark);
  if (said == 0 && !observation.must_be_ours) return resolve_others(observation, key);
  return resolve_without_ours(observation, key, mark, first);
}

AssignmentResolver::Resolution AssignmentResolver::resolve_ours(const Observation& observation,
                                                                std::uint64_t said,
                                                                std::uint64_t mark) {
  if (said != ours_) {
    return deviates(Resolution::Trouble::mismatch, mark,
                    mismatch_sentence(text_of_ours(observation.object.annotations)));
  }
  auto cards = dialect::read_answer(observation.object, observation.pod, observation.node);
  if (cards) return {.cards = *std::move(cards)};
  return {.trouble = Resolution::Trouble::unread, .message = cards.error().message};
}

// Our annotation does not count or is missing. Annotations of other schedulers still count; where
// signatures are required, only those that agents write count.
AssignmentResolver::Resolution AssignmentResolver::resolve_without_ours(
    const Observation& observation, const base::HashKey& key, std::uint64_t mark, bool first) {
  dialect::PodObject object = observation.object;
  if (observation.proof) {
    dialect::erase_scheduler_words(object.annotations);
  } else {
    object.annotations.erase(std::string(dialect::kGpusAnnotation));
  }
  Resolution resolution =
      resolve_others({.object = object, .pod = observation.pod, .node = observation.node}, key);
  if (mark == 0) return resolution;
  const bool unsigned_one = observation.proof && !observation.created_bound;
  Resolution wrong =
      first ? deviates(Resolution::Trouble::untrusted, mark, untrusted_sentence(unsigned_one))
            : deviates(Resolution::Trouble::mismatch, mark,
                       mismatch_sentence(text_of_ours(observation.object.annotations)));
  wrong.cards = std::move(resolution.cards);
  wrong.by_index = std::move(resolution.by_index);
  return wrong;
}

AssignmentResolver::Resolution AssignmentResolver::resolve_others(const Observation& observation,
                                                                  const base::HashKey& key) {
  auto cards = dialect::read_answer(observation.object, observation.pod, observation.node);
  if (!cards && others_ == 0) {
    return {.trouble = Resolution::Trouble::unread, .message = cards.error().message};
  }
  if (observation.node == nullptr || (others_ == 0 && !*cards)) return {};
  const dialect::AnswerText answer = dialect::answer_text(observation.object);
  const std::uint64_t said = hash_of(answer.text, key);
  if (final_ && said != others_) {
    return deviates(Resolution::Trouble::mismatch, said,
                    fmt::format("the annotations about the pod's cards were changed after the pod "
                                "was bound: {}; the pod keeps the cards that it was given",
                                answer.text.empty() ? "they were removed" : shown(answer.text)));
  }
  if (!cards) return {.trouble = Resolution::Trouble::unread, .message = cards.error().message};
  others_ = said;
  final_ = final_ || answer.settled;
  Resolution resolution{.cards = *std::move(cards)};
  if (resolution.cards && dialect::has_indexes_only(observation.object))
    resolution.by_index = observation.object.annotations;
  return resolution;
}

AssignmentResolver::Resolution AssignmentResolver::deviates(Resolution::Trouble trouble,
                                                            std::uint64_t said,
                                                            std::string message) {
  mismatched_ = true;
  const std::uint64_t mark = said == 0 ? 1 : said;
  const bool told = std::exchange(reported_, mark) == mark;
  return {.trouble = trouble, .told = told, .message = std::move(message)};
}

}  // namespace stowage::scheduler
