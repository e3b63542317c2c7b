// What somebody may have meant who typed a word that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowage::base {

// The candidate with the fewest single-letter edits to the word, the first of equals; empty if all
// need more than a slip of the hand (neighbours that changed places are one edit): one edit of a
// word below 4 letters, two below 12, else three. Words of more than 256 letters have none.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace stowage::base
