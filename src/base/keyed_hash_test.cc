#include "base/keyed_hash.h"

#include <string>

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

// The published vectors: the key is the bytes 0 to 15, the text the bytes 0 to length - 1.
TEST(KeyedHash, EqualsThePublishedVectors) {
  const HashKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  const std::pair<std::size_t, std::uint64_t> rows[] = {{0, 0x726fdb47dd0e0e31U},
                                                        {1, 0x74f839c593dc67fdU},
                                                        {7, 0xab0200f58b01d137U},
                                                        {8, 0x93f5f5799a932462U},
                                                        {15, 0xa129ca6149be45e5U}};
  for (const auto& [length, hash] : rows) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(i);
    EXPECT_EQ(keyed_hash(key, text), hash) << length;
  }
}

TEST(KeyedHash, EachKeyHashesInItsOwnWay) {
  EXPECT_NE(keyed_hash(random_hash_key(), "a text"), keyed_hash(random_hash_key(), "a text"));
}

}  // namespace
}  // namespace stowage::base
