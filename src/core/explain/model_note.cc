#include "core/explain/model_note.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace stowage::core {
namespace {

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// True if the model contains the word, but only as a part of longer words.
bool part_of_words(const std::string& word, const std::string& model) {
  bool found = false;
  for (std::size_t at = model.find(word); at != std::string::npos; at = model.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool before = at > 0 && letter_or_digit(model[at - 1]) && letter_or_digit(word.front());
    const bool after =
        end < model.size() && letter_or_digit(model[end]) && letter_or_digit(word.back());
    if (!before && !after) return false;
    found = true;
  }
  return found;
}

// The word of the filter that accepted the card; empty if a word matches a whole word of the model.
std::string loose_word(const CardFilter& filter, const std::string& model) {
  std::string loose;
  const std::string name = base::ascii_lower(model);
  for (const std::string& asked : filter.models_any) {
    const std::string word = base::ascii_lower(asked);
    if (word.empty() || name.find(word) == std::string::npos) continue;
    if (!part_of_words(word, name)) return {};
    if (loose.empty()) loose = asked;
  }
  return loose;
}

}  // namespace

std::string model_note(const PodSpec& pod, const NodeSpec& node, const Assignment& cards) {
  for (std::size_t i = 0; i < std::min(cards.containers.size(), pod.containers.size()); ++i) {
    const CardFilter& filter = pod.containers[i].gpu.filter;
    if (filter.model_match != CardFilter::Match::contains) continue;
    for (const CardShare& share : cards.containers[i]) {
      if (share.card >= node.cards.size()) continue;
      const std::string& model = node.cards[share.card].model;
      const std::string word = loose_word(filter, model);
      if (word.empty()) continue;
      return fmt::format(
          "the pod asked for a GPU of type \"{}\" and got \"{}\", whose name contains it; write "
          "more of the name, or exclude that type",
          word.substr(0, 64), model.substr(0, 64));
    }
  }
  return {};
}

}  // namespace stowage::core
