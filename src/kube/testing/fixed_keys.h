// Signing keys for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "kube/seal.h"
#include "net/digest.h"

namespace stowage::kube::testing {

// One key that signs and verifies. Everything is signed since `began_unix`.
[[nodiscard]] inline Keys keys_from_seed(std::string_view seed, std::int64_t began_unix = 0) {
  auto key = net::PrivateKey::from_seed(net::sha256(seed));
  STOWAGE_CHECK(key.has_value());
  auto keys = std::make_shared<Keyring>();
  keys->known.emplace(key->public_key().id(), key->public_key());
  keys->signs = std::move(*key);
  keys->began_unix = began_unix;
  return keys;
}

// Keys that are available and do not change.
class FixedKeys final : public KeySource {
 public:
  explicit FixedKeys(Keys keys) : keys_(std::move(keys)) {}
  [[nodiscard]] Keys keys() const override { return keys_; }
  [[nodiscard]] std::string trouble() const override { return {}; }
  void begin() override {}
  std::uint64_t look_soon() override { return 0; }
  [[nodiscard]] std::uint64_t looked() const override { return 0; }

 private:
  Keys keys_;
};

}  // namespace stowage::kube::testing
