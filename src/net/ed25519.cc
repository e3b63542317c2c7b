#include "net/ed25519.h"

#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/check.h"
#include "net/digest.h"
#include "net/pem.h"

namespace stowage::net {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using SharedKey = std::shared_ptr<evp_pkey_st>;

constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kPemMax = 4096;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

SharedKey shared(EVP_PKEY* key) { return {key, FreeKey()}; }

std::string raw_public(EVP_PKEY* key) {
  std::string bytes(kEd25519KeyBytes, '\0');
  std::size_t size = bytes.size();
  const int got =
      EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(bytes.data()), &size);
  STOWAGE_CHECK(got == 1 && size == kEd25519KeyBytes);
  return bytes;
}

std::string id_of(std::string_view key) {
  std::string id;
  for (const char byte : sha256(key).substr(0, kIdBytes)) {
    id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return id;
}

template <typename Write>
std::string written(Write write) {
  const std::unique_ptr<BIO, FreeBio> out(BIO_new(BIO_s_mem()));
  STOWAGE_CHECK(out != nullptr && write(out.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Status check_kind(EVP_PKEY* key, std::string_view what) {
  if (EVP_PKEY_get_id(key) == EVP_PKEY_ED25519) return {};
  return fail(fmt::format(
      "{}: not an Ed25519 key; make one with: openssl genpkey -algorithm ed25519", what));
}

}  // namespace

PublicKey::PublicKey(SharedKey key)
    : key_(std::move(key)), bytes_(raw_public(key_.get())), id_(id_of(bytes_)) {}

Result<PublicKey> PublicKey::from_bytes(std::string_view bytes) {
  if (bytes.size() != kEd25519KeyBytes) return fail("a public key has 32 bytes");
  SharedKey key =
      shared(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(bytes), bytes.size()));
  if (!key) return fail("the public key is damaged");
  return PublicKey(std::move(key));
}

Result<PublicKey> PublicKey::from_pem(const std::string& pem, std::string_view what) {
  if (pem.size() > kPemMax) return fail(fmt::format("{}: too long for a public key", what));
  const std::unique_ptr<BIO, FreeBio> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  STOWAGE_CHECK(text != nullptr);
  SharedKey key = shared(PEM_read_bio_PUBKEY(text.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key)
    return fail(fmt::format("{}: no public key; expected -----BEGIN PUBLIC KEY-----", what));
  STOWAGE_TRY_VOID(check_kind(key.get(), what));
  return PublicKey(std::move(key));
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
  if (signature.size() != kEd25519SignatureBytes) return false;
  const Context context(EVP_MD_CTX_new());
  STOWAGE_CHECK(context != nullptr);
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                       message.size()) == 1;
  if (!good) ERR_clear_error();
  return good;
}

std::string PublicKey::pem() const {
  return written([&](BIO* out) { return PEM_write_bio_PUBKEY(out, key_.get()); });
}

PrivateKey::PrivateKey(SharedKey key) : key_(key), public_(std::move(key)) {}

PrivateKey PrivateKey::generate() {
  SharedKey key = shared(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  STOWAGE_CHECK(key != nullptr);
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::from_seed(std::string_view seed) {
  if (seed.size() != kEd25519KeyBytes) return fail("the seed of a private key has 32 bytes");
  SharedKey key =
      shared(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size()));
  STOWAGE_CHECK(key != nullptr);
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::from_pem(const std::string& pem, std::string_view what) {
  if (pem.size() > kPemMax) return fail(fmt::format("{}: too long for a private key", what));
  STOWAGE_TRY(parsed, parse_key(pem, what));
  SharedKey key = std::move(parsed);
  STOWAGE_TRY_VOID(check_kind(key.get(), what));
  return PrivateKey(std::move(key));
}

std::string PrivateKey::sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new());
  STOWAGE_CHECK(context != nullptr);
  std::string signature(kEd25519SignatureBytes, '\0');
  std::size_t size = signature.size();
  const bool good =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(message), message.size()) == 1;
  STOWAGE_CHECK(good && size == kEd25519SignatureBytes);
  return signature;
}

std::string PrivateKey::pem() const {
  return written([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace stowage::net
