#include "net/tls_session.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/ascii.h"
#include "net/tls_context.h"

namespace stowage::net {
namespace {

constexpr std::size_t kNamesShownMax = 8;
constexpr std::size_t kOutputKept = std::size_t{20} << 10U;  // of memory, while nothing is sent

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

std::string date_of(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown date";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Text from the peer's certificate is untrusted: keeps only visible ASCII.
std::string printable(std::string_view text) {
  std::string out(text.substr(0, 253));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(bytes);
  if (size != 4 && size != 16) return "?";
  inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(),
            static_cast<socklen_t>(text.size()));
  return text.data();
}

// The names and addresses in a certificate: "a, b and 3 more".
std::string names_of(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string out;
  std::size_t shown = 0;
  std::size_t others = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    if (shown == kNamesShownMax) {
      ++others;
      continue;
    }
    if (shown++ != 0) out += ", ";
    if (name->type == GEN_IPADD) {
      out += address_of(name->d.iPAddress);
    } else {
      out += printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                        static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))});
    }
  }
  GENERAL_NAMES_free(names);
  if (others != 0) out += fmt::format(" and {} more", others);
  return out.empty() ? "no name at all" : out;
}

std::vector<std::string> subject_values(X509* certificate, int kind) {
  std::vector<std::string> found;
  const X509_NAME* name = X509_get_subject_name(certificate);
  int at = -1;
  while ((at = X509_NAME_get_index_by_NID(name, kind, at)) >= 0) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size >= 0) {
      found.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
      OPENSSL_free(text);
    }
  }
  return found;
}

struct FreeVerification {
  void operator()(X509_STORE_CTX* verification) const { X509_STORE_CTX_free(verification); }
};

// True if a client's certificate is valid with these authorities alone.
bool vouches(X509_STORE* store, X509* certificate, STACK_OF(X509) * chain) {
  const std::unique_ptr<X509_STORE_CTX, FreeVerification> verification(X509_STORE_CTX_new());
  const bool good = verification &&
                    X509_STORE_CTX_init(verification.get(), store, certificate, chain) == 1 &&
                    X509_STORE_CTX_set_default(verification.get(), "ssl_client") == 1 &&
                    X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  return good;
}

std::string describe_refusal(int error, X509* certificate, const std::string& host) {
  const std::string whose = host.empty() ? "the client" : host;
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("certificate of {} expired on {}", whose,
                         date_of(X509_get0_notAfter(certificate)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("certificate of {} is not valid before {}", whose,
                         date_of(X509_get0_notBefore(certificate)));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("certificate is for {}, not {}", names_of(certificate), whose);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("certificate of {} is not signed by a trusted CA", whose);
    default:
      return fmt::format("certificate of {} is refused: {}", whose,
                         X509_verify_cert_error_string(error));
  }
}

}  // namespace

void TlsSession::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsSession::TlsSession(std::shared_ptr<TlsContext> context, ssl_st* ssl)
    : context_(std::move(context)), ssl_(ssl) {}

TlsSession::~TlsSession() = default;

Status TlsSession::begin() {
  if (!ssl_) return fail(take_tls_error());
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (in_ == nullptr || out_ == nullptr) {
    BIO_free(in_);
    BIO_free(out_);
    return fail("out of memory");
  }
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_verify(ssl_.get(), SSL_get_verify_mode(ssl_.get()), verify);
  return {};
}

Status TlsSession::expect_host(const std::string& host) {
  host_ = context_->server_name.empty() ? host : context_->server_name;
  const bool address = is_address(host_);
  bool good = address || SSL_set_tlsext_host_name(ssl_.get(), host_.c_str()) == 1;
  if (good && !context_->insecure) {
    // The subject's common name is not used as a host name.
    SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    good = address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host_.c_str()) == 1
                   : SSL_set1_host(ssl_.get(), host_.c_str()) == 1;
  }
  if (!good) return fail(fmt::format("\"{}\" cannot be used as the server's name", host_));
  return {};
}

Result<std::unique_ptr<TlsSession>> TlsSession::connect(std::shared_ptr<TlsContext> context,
                                                        const std::string& host) {
  ssl_st* ssl = SSL_new(context->context.get());
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(context), ssl));
  STOWAGE_TRY_VOID(session->begin());
  STOWAGE_TRY_VOID(session->expect_host(host));
  SSL_set_connect_state(ssl);
  return session;
}

Result<std::unique_ptr<TlsSession>> TlsSession::accept(std::shared_ptr<TlsContext> context) {
  ssl_st* ssl = SSL_new(context->context.get());
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(context), ssl));
  STOWAGE_TRY_VOID(session->begin());
  SSL_set_accept_state(ssl);
  return session;
}

int TlsSession::verify(int good, x509_store_ctx_st* store) {
  if (good != 0) return good;
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  if (session->context_->insecure) return 1;
  if (session->refusal_.empty()) {
    session->refusal_ = describe_refusal(X509_STORE_CTX_get_error(store),
                                         X509_STORE_CTX_get_current_cert(store), session->host_);
  }
  return 0;
}

bool TlsSession::feed(std::string_view ciphertext) {
  while (!ciphertext.empty()) {
    const auto size = static_cast<int>(std::min<std::size_t>(ciphertext.size(), INT_MAX));
    const int taken = BIO_write(in_, ciphertext.data(), size);
    if (taken <= 0) {
      error_ = "out of memory";
      return false;
    }
    ciphertext.remove_prefix(static_cast<std::size_t>(taken));
  }
  return true;
}

void TlsSession::collect_output() {
  const std::size_t pending = BIO_ctrl_pending(out_);
  if (pending == 0) return;
  const std::size_t held = output_.size();
  output_.resize(held + pending);
  std::size_t got = 0;
  BIO_read_ex(out_, output_.data() + held, pending, &got);
  output_.resize(held + got);
}

void TlsSession::consume_output(std::size_t count) {
  output_taken_ += count;
  if (output_taken_ != output_.size()) return;
  output_taken_ = 0;
  output_.clear();
  if (output_.capacity() > kOutputKept) output_ = std::string();
}

std::string TlsSession::describe_failure() const {
  if (!refusal_.empty()) {
    ERR_clear_error();
    return refusal_;
  }
  const unsigned long code = ERR_peek_error();
  std::string reason = take_tls_error();
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return "TLS failed: " + reason;
  switch (ERR_GET_REASON(code)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL: return "TLS failed: the peer does not use TLS on this port";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return fmt::format(
          "the peer refused the TLS handshake; it may want a certificate of ours: {}", reason);
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return fmt::format("the peer refused our certificate: {}", reason);
    default: return "TLS failed: " + reason;
  }
}

TlsSession::Step TlsSession::judge(int result) {
  const int kind = SSL_get_error(ssl_.get(), result);
  collect_output();
  if (kind == SSL_ERROR_NONE) return Step::done;
  if (kind == SSL_ERROR_WANT_READ) return Step::more;
  if (kind == SSL_ERROR_ZERO_RETURN) return Step::closed;
  error_ = describe_failure();
  return Step::failed;
}

TlsSession::Step TlsSession::handshake() {
  ERR_clear_error();
  return judge(SSL_do_handshake(ssl_.get()));
}

TlsSession::Step TlsSession::read(std::span<char> room, std::size_t& count) {
  count = 0;
  ERR_clear_error();
  return judge(SSL_read_ex(ssl_.get(), room.data(), room.size(), &count));
}

bool TlsSession::write(std::string_view plain) {
  if (plain.empty()) return true;
  ERR_clear_error();
  std::size_t written = 0;
  const Step step = judge(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written));
  if (step == Step::done && written == plain.size()) return true;
  if (error_.empty()) error_ = "TLS failed: cannot encrypt";
  return false;
}

void TlsSession::close() {
  ERR_clear_error();
  if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  collect_output();
}

PeerIdentity TlsSession::peer() const {
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK ||
      SSL_get_verify_mode(ssl_.get()) == SSL_VERIFY_NONE) {
    return {};
  }
  PeerIdentity who{.common_name = {},
                   .organisations = subject_values(certificate, NID_organizationName),
                   .authorities = {}};
  std::vector<std::string> names = subject_values(certificate, NID_commonName);
  if (!names.empty()) who.common_name = std::move(names.back());
  for (const TlsContext::Authority& authority : context_->client_authorities) {
    if (vouches(authority.store.get(), certificate, SSL_get_peer_cert_chain(ssl_.get()))) {
      who.authorities.push_back(authority.name);
    }
  }
  return who;
}

}  // namespace stowage::net
