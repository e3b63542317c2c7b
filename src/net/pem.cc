#include "net/pem.h"

#include <arpa/inet.h>
#include <array>
#include <climits>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace stowage::net {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

// Replaces the library's default, which would ask at the terminal.
int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

BioPtr open_text(const std::string& text) {
  if (text.size() > INT_MAX) return nullptr;
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A name, or an address as text; empty if it is neither.
std::string host_of(const GENERAL_NAME* name) {
  if (name->type != GEN_DNS && name->type != GEN_IPADD) return {};
  const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
  const unsigned char* data = ASN1_STRING_get0_data(value);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
  if (name->type == GEN_DNS) {
    std::string host(data, data + size);
    return host.find('\0') == std::string::npos ? host : std::string();
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (size != 4 && size != 16) return {};
  const int family = size == 4 ? AF_INET : AF_INET6;
  return inet_ntop(family, data, text.data(), text.size()) != nullptr ? text.data() : "";
}

}  // namespace

void FreeCertificate::operator()(x509_st* certificate) const { X509_free(certificate); }
void FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

Result<std::vector<CertificatePtr>> parse_certificates(const std::string& pem,
                                                       std::string_view what) {
  std::vector<CertificatePtr> found;
  const BioPtr text = open_text(pem);
  if (!text) return fail(fmt::format("{}: out of memory", what));
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(certificate);
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) return fail(fmt::format("{}: certificate {} is damaged", what, found.size() + 1));
  if (found.empty()) {
    return fail(
        fmt::format("{}: no certificate found; expected -----BEGIN CERTIFICATE-----", what));
  }
  return found;
}

Result<KeyPtr> parse_key(const std::string& pem, std::string_view what) {
  const BioPtr text = open_text(pem);
  if (!text) return fail(fmt::format("{}: out of memory", what));
  bool asked = false;
  KeyPtr key(PEM_read_bio_PrivateKey(text.get(), nullptr, refuse_passphrase, &asked));
  ERR_clear_error();
  if (key) return key;
  if (asked) {
    return fail(
        fmt::format("{}: the key is protected by a passphrase; give a key without one", what));
  }
  if (pem.find("PRIVATE KEY-----") == std::string::npos) {
    return fail(
        fmt::format("{}: no private key found; expected -----BEGIN PRIVATE KEY-----", what));
  }
  return fail(fmt::format("{}: the private key is damaged", what));
}

std::vector<std::string> hosts_of(x509_st* certificate) {
  std::vector<std::string> hosts;
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string host = host_of(sk_GENERAL_NAME_value(names.get(), i));
    if (!host.empty()) hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace stowage::net
