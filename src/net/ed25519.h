// Ed25519 signatures (RFC 8032): keys, signing and verifying. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;

namespace stowage::net {

inline constexpr std::size_t kEd25519KeyBytes = 32;
inline constexpr std::size_t kEd25519SignatureBytes = 64;

class PublicKey {
 public:
  // 32 bytes.
  [[nodiscard]] static Result<PublicKey> from_bytes(std::string_view bytes);
  // -----BEGIN PUBLIC KEY-----; errors begin with `what`.
  [[nodiscard]] static Result<PublicKey> from_pem(const std::string& pem, std::string_view what);

  [[nodiscard]] bool verifies(std::string_view message, std::string_view signature) const;
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // A short name: the first 8 bytes of the SHA-256 of the key, in 16 hexadecimal digits.
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string pem() const;
  friend bool operator==(const PublicKey& a, const PublicKey& b) { return a.bytes_ == b.bytes_; }

 private:
  friend class PrivateKey;
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string bytes_;
  std::string id_;
};

class PrivateKey {
 public:
  [[nodiscard]] static PrivateKey generate();
  // 32 bytes, the private key of RFC 8032.
  [[nodiscard]] static Result<PrivateKey> from_seed(std::string_view seed);
  // -----BEGIN PRIVATE KEY-----, without a passphrase; errors begin with `what`.
  [[nodiscard]] static Result<PrivateKey> from_pem(const std::string& pem, std::string_view what);

  [[nodiscard]] std::string sign(std::string_view message) const;  // 64 bytes
  [[nodiscard]] const PublicKey& public_key() const { return public_; }
  [[nodiscard]] std::string pem() const;  // secret

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_;
};

}  // namespace stowage::net
