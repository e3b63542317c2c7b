#include "net/tls.h"

#include <arpa/inet.h>
#include <array>
#include <climits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/tls_context.h"

namespace stowage::net {
namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

using Certificates = std::vector<Owned<X509>>;

// In place of the library's own, which would ask at the terminal.
int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Owned<BIO> open_text(const std::string& text) {
  if (text.size() > INT_MAX) return nullptr;
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<Certificates> parse_certificates(const std::string& pem, std::string_view what) {
  Certificates found;
  const Owned<BIO> text = open_text(pem);
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

Result<Owned<EVP_PKEY>> parse_key(const std::string& pem, std::string_view what) {
  const Owned<BIO> text = open_text(pem);
  if (!text) return fail(fmt::format("{}: out of memory", what));
  bool asked = false;
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(text.get(), nullptr, refuse_passphrase, &asked));
  ERR_clear_error();
  if (key) return key;
  if (asked) {
    return fail(fmt::format("{}: the key is protected by a passphrase; give it without", what));
  }
  if (pem.find("PRIVATE KEY-----") == std::string::npos) {
    return fail(
        fmt::format("{}: no private key found; expected -----BEGIN PRIVATE KEY-----", what));
  }
  return fail(fmt::format("{}: the private key is damaged", what));
}

// Our own certificate, its chain and its key.
Status use_identity(SSL_CTX* context, const std::string& certificate_pem,
                    const std::string& key_pem, std::string_view whose) {
  const std::string what = fmt::format("certificate of the {}", whose);
  STOWAGE_TRY(chain, parse_certificates(certificate_pem, what));
  STOWAGE_TRY(key, parse_key(key_pem, fmt::format("key of the {}", whose)));
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return fail(fmt::format("{}: the key does not match the certificate", what));
  }
  bool good = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  for (std::size_t i = 1; good && i < chain.size(); ++i) {
    good = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  if (!good || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return fail(fmt::format("{}: {}", what, take_tls_error()));
  }
  return {};
}

Status trust(SSL_CTX* context, const std::string& pem, std::string_view what) {
  STOWAGE_TRY(certificates, parse_certificates(pem, what));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& certificate : certificates) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return fail(fmt::format("{}: {}", what, take_tls_error()));
    }
  }
  // An authority may be trusted whoever has signed its own certificate.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Result<std::shared_ptr<TlsContext>> make_context(const SSL_METHOD* method) {
  auto made = std::make_shared<TlsContext>();
  made->context.reset(SSL_CTX_new(method));
  SSL_CTX* context = made->context.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return fail(fmt::format("cannot set up TLS: {}", take_tls_error()));
  }
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  // Connections are kept, not resumed; and a session would outlive the certificates it was made
  // with.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  return made;
}

constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* at = nullptr;
  if (SSL_select_next_proto(&at, size, kProtocols.data(), kProtocols.size(), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = at;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void FreeSslContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

std::string take_tls_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "unknown TLS error" : reason;
}

Result<std::shared_ptr<TlsContext>> make_client_tls(const ClientTls& tls) {
  STOWAGE_TRY(made, make_context(TLS_client_method()));
  SSL_CTX* context = made->context.get();
  made->server_name = tls.server_name;
  made->insecure = tls.insecure;
  if (!tls.ca_pem.empty()) {
    STOWAGE_TRY_VOID(trust(context, tls.ca_pem, "certificates to trust"));
  } else if (!tls.insecure && SSL_CTX_set_default_verify_paths(context) != 1) {
    return fail(fmt::format("cannot read the system's certificates: {}", take_tls_error()));
  }
  if (tls.certificate_pem.empty() != tls.key_pem.empty()) {
    return fail(fmt::format("the client has a {} but no {}: give both or none",
                            tls.key_pem.empty() ? "certificate" : "key",
                            tls.key_pem.empty() ? "key" : "certificate"));
  }
  if (!tls.certificate_pem.empty()) {
    STOWAGE_TRY_VOID(use_identity(context, tls.certificate_pem, tls.key_pem, "client"));
  }
  SSL_CTX_set_verify(context, tls.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_set_alpn_protos(context, kProtocols.data(), kProtocols.size()) != 0) {
    return fail(fmt::format("cannot set up TLS: {}", take_tls_error()));
  }
  return made;
}

Result<std::shared_ptr<TlsContext>> make_server_tls(const ServerTls& tls) {
  STOWAGE_TRY(made, make_context(TLS_server_method()));
  SSL_CTX* context = made->context.get();
  STOWAGE_TRY_VOID(use_identity(context, tls.certificate_pem, tls.key_pem, "server"));
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (tls.client_ca_pem.empty()) {
    if (tls.client_required) {
      return fail(
          "client certificates are required, but there is no authority to verify them with");
    }
    return made;
  }
  STOWAGE_TRY_VOID(trust(context, tls.client_ca_pem, "authority of the clients"));
  STOWAGE_TRY(authorities, parse_certificates(tls.client_ca_pem, "authority of the clients"));
  for (const auto& authority : authorities) {
    if (SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return fail(fmt::format("authority of the clients: {}", take_tls_error()));
    }
  }
  SSL_CTX_set_verify(context,
                     SSL_VERIFY_PEER | (tls.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  return made;
}

Result<std::string> first_host(const std::string& certificate_pem) {
  STOWAGE_TRY(certificates, parse_certificates(certificate_pem, "certificate"));
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificates.front().get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const unsigned char* data = ASN1_STRING_get0_data(value);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    if (name->type == GEN_DNS) {
      std::string host(data, data + size);
      if (!host.empty() && host.find('\0') == std::string::npos && !host.starts_with('*')) {
        return host;
      }
      continue;
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = size == 4 ? AF_INET : AF_INET6;
    if (size != 4 && size != 16) continue;
    if (inet_ntop(family, data, text.data(), text.size()) != nullptr) return text.data();
  }
  return fail("the certificate names no host (subjectAltName)");
}

}  // namespace stowage::net
