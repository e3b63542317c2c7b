#include "net/ed25519.h"

#include <gtest/gtest.h>

namespace stowage::net {
namespace {

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

struct Vector {
  const char* seed;
  const char* key;
  const char* message;
  const char* signature;
};
// RFC 8032, section 7.1, tests 1 to 3.
constexpr Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
     "b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
     "1d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984d"
     "c6594a7c15e9716ed28dc027beceea1ec40a"},
};

TEST(Ed25519, IsWhatTheStandardSays) {
  for (const Vector& vector : kVectors) {
    const auto key = PrivateKey::from_seed(from_hex(vector.seed));
    ASSERT_TRUE(key);
    EXPECT_EQ(key->public_key().bytes(), from_hex(vector.key));
    const std::string message = from_hex(vector.message);
    const std::string signature = key->sign(message);
    EXPECT_EQ(signature, from_hex(vector.signature));
    const auto known = PublicKey::from_bytes(from_hex(vector.key));
    ASSERT_TRUE(known);
    EXPECT_TRUE(known->verifies(message, signature));
    EXPECT_FALSE(known->verifies(message + "x", signature));
  }
}

TEST(Ed25519, AnyChangedBitIsNoticed) {
  const auto key = PrivateKey::from_seed(std::string(32, 'k'));
  const std::string message = "the cards of a pod";
  const std::string signature = key->sign(message);
  for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
    std::string other = signature;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(key->public_key().verifies(message, other)) << bit;
  }
  EXPECT_FALSE(key->public_key().verifies(message, ""));
  EXPECT_FALSE(key->public_key().verifies(message, signature + "x"));
  EXPECT_FALSE(PrivateKey::generate().public_key().verifies(message, signature));
}

TEST(Ed25519, KeysAreWrittenAndRead) {
  const PrivateKey key = PrivateKey::generate();
  const auto again = PrivateKey::from_pem(key.pem(), "the key");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->public_key(), key.public_key());
  EXPECT_EQ(again->pem(), key.pem());
  const auto known = PublicKey::from_pem(key.public_key().pem(), "the key");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(*known, key.public_key());
  EXPECT_EQ(known->id().size(), 16U);
  EXPECT_EQ(known->id(), key.public_key().id());
}

TEST(Ed25519, WhatIsNoKeyIsRefused) {
  EXPECT_FALSE(PrivateKey::from_seed("short"));
  EXPECT_FALSE(PublicKey::from_bytes("short"));
  const std::string pem = PrivateKey::generate().pem();
  for (const std::string& text : {std::string(), std::string("garbage"), pem.substr(0, 60)}) {
    const auto key = PrivateKey::from_pem(text, "file x");
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().message.rfind("file x: ", 0), 0U) << key.error().message;
  }
  EXPECT_FALSE(PublicKey::from_pem(pem, "x")) << "a private key is none to be published";
  EXPECT_FALSE(PublicKey::from_pem(std::string(10'000, 'x'), "x"));
}

}  // namespace
}  // namespace stowage::net
