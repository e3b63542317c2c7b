#include "net/tls.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "net/pem.h"
#include "net/tls_context.h"

namespace stowage::net {
namespace {

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

Status trust(X509_STORE* store, const std::string& pem, std::string_view what) {
  STOWAGE_TRY(certificates, parse_certificates(pem, what));
  for (const auto& certificate : certificates) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return fail(fmt::format("{}: {}", what, take_tls_error()));
    }
  }
  // An intermediate authority may be trusted without its issuer.
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
  // Connections are kept, not resumed; and a session would outlive the certificates it was created
  // with.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  return made;
}

// A certificate signed by one of these passes the handshake. Clients are sent their names, so that
// they present the right one.
Status accept_clients_of(SSL_CTX* context, const std::string& pem, std::string_view what) {
  STOWAGE_TRY_VOID(trust(SSL_CTX_get_cert_store(context), pem, what));
  STOWAGE_TRY(authorities, parse_certificates(pem, what));
  for (const auto& authority : authorities) {
    if (SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return fail(fmt::format("{}: {}", what, take_tls_error()));
    }
  }
  return {};
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
void FreeCertificateStore::operator()(x509_store_st* store) const { X509_STORE_free(store); }

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
    STOWAGE_TRY_VOID(trust(SSL_CTX_get_cert_store(context), tls.ca_pem, "certificates to trust"));
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
  if (tls.client_ca_pem.empty() && tls.client_authorities.empty()) {
    if (tls.client_required) {
      return fail("client certificates are required, but no CA is set to verify them");
    }
    return made;
  }
  if (!tls.client_ca_pem.empty()) {
    STOWAGE_TRY_VOID(accept_clients_of(context, tls.client_ca_pem, "CA of the clients"));
  }
  for (const ClientAuthority& authority : tls.client_authorities) {
    const std::string what = fmt::format("CA of the clients \"{}\"", authority.name);
    STOWAGE_TRY_VOID(accept_clients_of(context, authority.ca_pem, what));
    TlsContext::Authority& named = made->client_authorities.emplace_back();
    named.name = authority.name;
    named.store.reset(X509_STORE_new());
    if (!named.store) return fail(fmt::format("{}: out of memory", what));
    STOWAGE_TRY_VOID(trust(named.store.get(), authority.ca_pem, what));
  }
  SSL_CTX_set_verify(context,
                     SSL_VERIFY_PEER | (tls.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  return made;
}

Result<std::string> first_host(const std::string& certificate_pem) {
  STOWAGE_TRY(certificates, parse_certificates(certificate_pem, "certificate"));
  for (std::string& host : hosts_of(certificates.front().get())) {
    if (!host.starts_with('*')) return std::move(host);
  }
  return fail("the certificate names no host (subjectAltName)");
}

}  // namespace stowage::net
