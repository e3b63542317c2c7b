#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/ascii.h"
#include "net/tls.h"
#include "net/tls_context.h"

namespace stowage::net {
namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIGNUM* number) const { BN_free(number); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

constexpr int kSerialBits = 127;
constexpr long kSecondsPerDay = 86'400;
constexpr long kClockSkewSeconds = 300;  // clocks of other machines may be behind ours
constexpr int kDaysMax = 36'500;

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// "DNS:a,IP:127.0.0.1", or an error if a host could be read as more than one.
Result<std::string> alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    if (!names.empty()) names += ',';
    if (is_address(host)) {
      names += "IP:" + host;
      continue;
    }
    for (const char c : host) {
      if (!is_ascii_alnum(c) && std::string_view("-._*").find(c) == std::string_view::npos) {
        return fail(fmt::format("\"{}\" is not a host name or an address", host));
      }
    }
    if (host.empty()) return fail("a host of the certificate is empty");
    names += "DNS:" + host;
  }
  return names;
}

bool add_extension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  const Owned<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, int days) {
  const long start = days > 0 ? -kClockSkewSeconds : (days - 1L) * kSecondsPerDay;
  return X509_gmtime_adj(X509_getm_notBefore(certificate), start) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), days * kSecondsPerDay) != nullptr;
}

bool set_subject(X509* certificate, const CertificateAsk& ask) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
  };
  const bool organised =
      std::all_of(ask.organisations.begin(), ask.organisations.end(),
                  [&](const std::string& organisation) { return add("O", organisation); });
  return organised && add("CN", ask.common_name) && X509_set_issuer_name(certificate, name) == 1;
}

bool fill(X509* certificate, EVP_PKEY* key, const CertificateAsk& ask, const std::string& names) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         set_validity(certificate, ask.days) && set_subject(certificate, ask) &&
         X509_set_pubkey(certificate, key) == 1 &&
         add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
         add_extension(certificate, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth,clientAuth") &&
         add_extension(certificate, NID_subject_key_identifier, "hash") &&
         (names.empty() || add_extension(certificate, NID_subject_alt_name, names.c_str())) &&
         X509_sign(certificate, key, EVP_sha256()) != 0;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

Result<KeyPair> make_self_signed(const CertificateAsk& ask) {
  if (ask.common_name.empty() || ask.common_name.size() > 64) {
    return fail(fmt::format("common name \"{}\" of the certificate: expected 1 to 64 characters",
                            ask.common_name));
  }
  if (ask.days > kDaysMax || ask.days < -kDaysMax) {
    return fail(
        fmt::format("certificate valid for {} days: expected at most {}", ask.days, kDaysMax));
  }
  STOWAGE_TRY(names, alternative_names(ask.hosts));
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  const Owned<BIO> key_text(BIO_new(BIO_s_mem()));
  const Owned<BIO> certificate_text(BIO_new(BIO_s_mem()));
  const bool good = key && certificate && key_text && certificate_text &&
                    fill(certificate.get(), key.get(), ask, names) &&
                    PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1 &&
                    PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0,
                                             nullptr, nullptr) == 1;
  if (!good) return fail(fmt::format("cannot make a certificate: {}", take_tls_error()));
  return KeyPair{.certificate_pem = text_of(certificate_text.get()),
                 .key_pem = text_of(key_text.get())};
}

}  // namespace stowage::net
