#include "scheduler/testimony.h"

#include <utility>

#include <fmt/format.h>

#include "dialect/decision.h"

namespace stowage::scheduler {
namespace {

constexpr std::size_t kShown = 256;  // of a text, in a message

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

// Of our annotation with its signature; 0: none.
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

std::string drift_sentence(const std::string* now) {
  const std::string what = now == nullptr ? "was removed" : fmt::format("now says {}", shown(*now));
  return fmt::format(
      "the annotation {} {}, after the pod was bound; the pod keeps the cards that it was given",
      dialect::kGpusAnnotation, what);
}

std::string forged_sentence(bool unsigned_one) {
  return unsigned_one ? fmt::format(
                            "the annotation {} has no signature of the scheduler for this "
                            "pod and node; it does not count",
                            dialect::kGpusAnnotation)
                      : fmt::format(
                            "the annotation {} is written by the scheduler alone; the pod "
                            "was created with it, and it does not count",
                            dialect::kGpusAnnotation);
}

}  // namespace

void Testimony::wrote(const dialect::Annotations& annotations, const base::HashKey& key) {
  if (seen_) return;
  ours_ = hash_of_ours(annotations, key);
}

void Testimony::forget_wrote() {
  if (!seen_) ours_ = 0;
}

bool Testimony::forged(const dialect::PodObject& object, const base::HashKey& key) {
  const std::uint64_t said = hash_of_ours(object.annotations, key);
  const std::uint64_t mark = mark_of(object.annotations, key);
  if (said == 0 || said == ours_ || mark == told_) return false;
  told_ = mark;
  return true;
}

bool Testimony::believes(const Sight& sight, std::uint64_t mark, bool first) const {
  if (mark == told_) return false;  // it did not count before
  const auto proof = sight.proof ? sight.proof() : Sight::Proof::too_old;
  if (proof == Sight::Proof::too_old) return first && !sight.born_bound;
  return proof == Sight::Proof::good;
}

Testimony::Word Testimony::hear(const Sight& sight, const base::HashKey& key) {
  const std::uint64_t said = hash_of_ours(sight.object.annotations, key);
  const std::uint64_t mark = mark_of(sight.object.annotations, key);
  const bool first = !std::exchange(seen_, true);
  if (ours_ == 0 && said != 0 && believes(sight, mark, first)) ours_ = said;
  drifted_ = false;
  if (ours_ != 0) return hear_ours(sight, said, mark);
  if (said == 0 && !sight.must_be_ours) return hear_others(sight, key);
  return hear_without_ours(sight, key, mark, first);
}

Testimony::Word Testimony::hear_ours(const Sight& sight, std::uint64_t said, std::uint64_t mark) {
  if (said != ours_) {
    return deviates(Word::Trouble::drift, mark,
                    drift_sentence(text_of_ours(sight.object.annotations)));
  }
  auto cards = dialect::read_answer(sight.object, sight.pod, sight.node);
  if (cards) return {.cards = *std::move(cards)};
  return {.trouble = Word::Trouble::unread, .message = cards.error().message};
}

// Our annotation does not count, or is missed: what others say is heard all the same; where
// signatures are asked for, what agents say, which nobody else writes.
Testimony::Word Testimony::hear_without_ours(const Sight& sight, const base::HashKey& key,
                                             std::uint64_t mark, bool first) {
  dialect::PodObject object = sight.object;
  if (sight.proof) {
    dialect::erase_scheduler_words(object.annotations);
  } else {
    object.annotations.erase(std::string(dialect::kGpusAnnotation));
  }
  Word word = hear_others({.object = object, .pod = sight.pod, .node = sight.node}, key);
  if (mark == 0) return word;
  const bool unsigned_one = sight.proof && !sight.born_bound;
  Word wrong = first ? deviates(Word::Trouble::forged, mark, forged_sentence(unsigned_one))
                     : deviates(Word::Trouble::drift, mark,
                                drift_sentence(text_of_ours(sight.object.annotations)));
  wrong.cards = std::move(word.cards);
  return wrong;
}

Testimony::Word Testimony::hear_others(const Sight& sight, const base::HashKey& key) {
  auto cards = dialect::read_answer(sight.object, sight.pod, sight.node);
  if (!cards && others_ == 0) {
    return {.trouble = Word::Trouble::unread, .message = cards.error().message};
  }
  if (sight.node == nullptr || (others_ == 0 && !*cards)) return {};
  const dialect::AnswerText answer = dialect::answer_text(sight.object);
  const std::uint64_t said = hash_of(answer.text, key);
  if (settled_ && said != others_) {
    return deviates(Word::Trouble::drift, said,
                    fmt::format("what the annotations say about the pod's cards was changed after "
                                "they were given: {}; the pod keeps the cards that it was given",
                                answer.text.empty() ? "they are gone" : shown(answer.text)));
  }
  if (!cards) return {.trouble = Word::Trouble::unread, .message = cards.error().message};
  others_ = said;
  settled_ = settled_ || answer.settled;
  return {.cards = *std::move(cards)};
}

Testimony::Word Testimony::deviates(Word::Trouble trouble, std::uint64_t said,
                                    std::string message) {
  drifted_ = true;
  const std::uint64_t mark = said == 0 ? 1 : said;
  const bool told = std::exchange(told_, mark) == mark;
  return {.trouble = trouble, .told = told, .message = std::move(message)};
}

}  // namespace stowage::scheduler
