#include "base/keyed_hash.h"

#include <bit>
#include <random>

namespace stowage::base {
namespace {

struct State {
  std::uint64_t v0;
  std::uint64_t v1;
  std::uint64_t v2;
  std::uint64_t v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

// Up to eight bytes, little-endian.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

HashKey random_hash_key() {
  std::random_device device;
  const auto half = [&] { return std::uint64_t{device()}; };
  const std::uint64_t first = half() << 32U | half();
  const std::uint64_t second = half() << 32U | half();
  return {first, second};
}

std::uint64_t keyed_hash(const HashKey& key, std::string_view text) {
  constexpr std::size_t kWord = 8;
  State state{.v0 = key[0] ^ 0x736f6d6570736575U,
              .v1 = key[1] ^ 0x646f72616e646f6dU,
              .v2 = key[0] ^ 0x6c7967656e657261U,
              .v3 = key[1] ^ 0x7465646279746573U};
  const std::uint64_t length = text.size();
  while (text.size() >= kWord) {
    state.take(word_of(text.substr(0, kWord)));
    text.remove_prefix(kWord);
  }
  state.take(word_of(text) | length << 56U);
  state.v2 ^= 0xffU;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace stowage::base
