#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <ctime>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/ascii.h"
#include "net/pem.h"
#include "net/tls.h"
#include "net/tls_context.h"

namespace stowage::net {
namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
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

// The subject and the issuer of a certificate; the same if it is self-signed.
struct Signing {
  X509* certificate = nullptr;
  EVP_PKEY* key = nullptr;
  X509* issuer = nullptr;
  EVP_PKEY* issuer_key = nullptr;
};

bool add_extension(const Signing& signing, int kind, const char* value) {
  X509* certificate = signing.certificate;
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, signing.issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  const Owned<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, const CertificateRequest& ask) {
  std::time_t now = ask.now_unix ? static_cast<std::time_t>(*ask.now_unix) : std::time(nullptr);
  const long start = ask.days > 0 ? -kClockSkewSeconds : (ask.days - 1L) * kSecondsPerDay;
  return X509_time_adj(X509_getm_notBefore(certificate), start, &now) != nullptr &&
         X509_time_adj(X509_getm_notAfter(certificate), ask.days * kSecondsPerDay, &now) != nullptr;
}

bool set_subject(X509* certificate, const CertificateRequest& ask) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
  };
  const bool organised =
      std::all_of(ask.organisations.begin(), ask.organisations.end(),
                  [&](const std::string& organisation) { return add("O", organisation); });
  return organised && add("CN", ask.common_name);
}

// The permitted uses of a certificate.
struct Uses {
  const char* constraints;
  const char* key_usage;
  const char* extended;  // null: whatever the rest allows
};
constexpr Uses kEverything{"critical,CA:TRUE", "critical,digitalSignature,keyCertSign",
                           "serverAuth,clientAuth"};
constexpr Uses kSigning{"critical,CA:TRUE,pathlen:0", "critical,keyCertSign,cRLSign", nullptr};
constexpr Uses kServing{"critical,CA:FALSE", "critical,digitalSignature", "serverAuth,clientAuth"};

// The issuer's key identifier can be written only after the certificate's own.
bool add_extensions(const Signing& signing, const Uses& uses, const std::string& names) {
  return add_extension(signing, NID_basic_constraints, uses.constraints) &&
         add_extension(signing, NID_key_usage, uses.key_usage) &&
         (uses.extended == nullptr || add_extension(signing, NID_ext_key_usage, uses.extended)) &&
         add_extension(signing, NID_subject_key_identifier, "hash") &&
         (signing.issuer == signing.certificate ||
          add_extension(signing, NID_authority_key_identifier, "keyid")) &&
         (names.empty() || add_extension(signing, NID_subject_alt_name, names.c_str()));
}

bool sign(const Signing& signing, const Uses& uses, const CertificateRequest& ask,
          const std::string& names) {
  X509* certificate = signing.certificate;
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         set_validity(certificate, ask) && set_subject(certificate, ask) &&
         X509_set_issuer_name(certificate, X509_get_subject_name(signing.issuer)) == 1 &&
         X509_set_pubkey(certificate, signing.key) == 1 && add_extensions(signing, uses, names) &&
         X509_sign(certificate, signing.issuer_key, EVP_sha256()) != 0;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

// Signed by the given issuer; self-signed without one.
Result<KeyPair> make(const CertificateRequest& ask, const Uses& uses, X509* issuer, EVP_PKEY* by) {
  if (ask.common_name.empty() || ask.common_name.size() > 64) {
    return fail(fmt::format("common name \"{}\" of the certificate: expected 1 to 64 characters",
                            ask.common_name));
  }
  if (ask.days > kDaysMax || ask.days < -kDaysMax) {
    return fail(
        fmt::format("certificate valid for {} days: expected at most {}", ask.days, kDaysMax));
  }
  STOWAGE_TRY(names, alternative_names(ask.hosts));
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr certificate(X509_new());
  const Owned<BIO> key_text(BIO_new(BIO_s_mem()));
  const Owned<BIO> certificate_text(BIO_new(BIO_s_mem()));
  const Signing signing{.certificate = certificate.get(),
                        .key = key.get(),
                        .issuer = issuer == nullptr ? certificate.get() : issuer,
                        .issuer_key = by == nullptr ? key.get() : by};
  const bool good =
      key && certificate && key_text && certificate_text && sign(signing, uses, ask, names) &&
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1 &&
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1;
  if (!good) return fail(fmt::format("cannot make a certificate: {}", take_tls_error()));
  return KeyPair{.certificate_pem = text_of(certificate_text.get()),
                 .key_pem = text_of(key_text.get())};
}

std::int64_t unix_of(const ASN1_TIME* time) {
  tm parts{};
  return time != nullptr && ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

}  // namespace

Result<KeyPair> make_self_signed(const CertificateRequest& ask) {
  return make(ask, kEverything, nullptr, nullptr);
}

Result<KeyPair> make_authority(const CertificateRequest& ask) {
  return make(ask, kSigning, nullptr, nullptr);
}

Result<KeyPair> make_signed(const CertificateRequest& ask, const KeyPair& authority) {
  STOWAGE_TRY_VOID(check_pair(authority));
  STOWAGE_TRY(issuer, parse_certificates(authority.certificate_pem, "authority"));
  STOWAGE_TRY(key, parse_key(authority.key_pem, "key of the CA"));
  return make(ask, kServing, issuer.front().get(), key.get());
}

Result<CertificateFacts> read_certificate(const std::string& certificate_pem) {
  STOWAGE_TRY(certificates, parse_certificates(certificate_pem, "certificate"));
  X509* first = certificates.front().get();
  return CertificateFacts{.begins_unix = unix_of(X509_get0_notBefore(first)),
                          .ends_unix = unix_of(X509_get0_notAfter(first)),
                          .hosts = hosts_of(first)};
}

Status check_pair(const KeyPair& pair) {
  STOWAGE_TRY(certificates, parse_certificates(pair.certificate_pem, "certificate"));
  STOWAGE_TRY(key, parse_key(pair.key_pem, "key"));
  const bool good = X509_check_private_key(certificates.front().get(), key.get()) == 1;
  ERR_clear_error();
  if (!good) return fail("the key does not match the certificate");
  return {};
}

Status check_signature(const std::string& certificate_pem, const std::string& authority_pem) {
  STOWAGE_TRY(certificates, parse_certificates(certificate_pem, "certificate"));
  STOWAGE_TRY(authorities, parse_certificates(authority_pem, "authority"));
  X509* certificate = certificates.front().get();
  X509* authority = authorities.front().get();
  const bool good = X509_check_issued(authority, certificate) == X509_V_OK &&
                    X509_verify(certificate, X509_get0_pubkey(authority)) == 1;
  ERR_clear_error();
  if (!good) return fail("the certificate is not signed by that CA");
  return {};
}

}  // namespace stowage::net
