#include "mps/layout.h"

#include <algorithm>

#include "base/check.h"

namespace stowage::mps {

bool usable_as_name(std::string_view card_id) {
  constexpr std::size_t kLongest = 64;
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return !card_id.empty() && card_id.size() <= kLongest &&
         std::all_of(card_id.begin(), card_id.end(), plain);
}

CardFolder folder_of(const std::string& root, const std::string& card_id) {
  STOWAGE_CHECK(usable_as_name(card_id));
  return {.path = root + "/" + card_id};
}

}  // namespace stowage::mps
