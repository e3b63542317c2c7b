// Suggests the word that a user may have meant by an unknown word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowage::base {

// The candidate with the fewest single-character edits to the word, the first of equals. A swap of
// adjacent characters is one edit. Empty if all candidates need more than one edit for a word below
// 4 characters, two below 12, else three. Words of more than 256 characters have no candidate.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace stowage::base
