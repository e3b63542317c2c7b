// What somebody may have meant who typed a word that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowage::base {

// The candidate with the fewest single-letter edits to the word, the first of equals; empty if all
// need more than two edits and more than half of the word: that would be no help.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace stowage::base
