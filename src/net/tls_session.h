// One TLS connection without its socket: ciphertext in and out, plain text in and out. Every
// function may leave ciphertext in output(), which must be sent. For src/net only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/tls.h"

struct ssl_st;
struct bio_st;
struct x509_store_ctx_st;

namespace stowage::net {

// The identity in the peer's verified certificate.
struct PeerIdentity {
  std::string common_name;
  std::vector<std::string> organisations;
  std::vector<std::string> authorities;  // names from ServerTls::client_authorities that verify it
};

class TlsSession {
 public:
  // `host` is that of the URL: the peer's certificate must be valid for it, unless the context has
  // another name.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> connect(
      std::shared_ptr<TlsContext> context, const std::string& host);
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> accept(
      std::shared_ptr<TlsContext> context);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  // Input from the peer. False if out of memory.
  [[nodiscard]] bool feed(std::string_view ciphertext);

  enum class Step { done, more, closed, failed };  // more: feed() first
  [[nodiscard]] Step handshake();
  // Plain text into `room`; `count` is its length. closed: the peer ended the stream properly.
  [[nodiscard]] Step read(std::span<char> room, std::size_t& count);
  // Requires: the handshake is done.
  [[nodiscard]] bool write(std::string_view plain);
  void close();  // tells the peer that nothing more comes

  [[nodiscard]] std::string_view output() const {
    return std::string_view(output_).substr(output_taken_);
  }
  void consume_output(std::size_t count);

  // After Step::failed, or a write() that returned false.
  [[nodiscard]] const std::string& error() const { return error_; }
  // Empty if the peer presented no verified certificate.
  [[nodiscard]] PeerIdentity peer() const;

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };

  TlsSession(std::shared_ptr<TlsContext> context, ssl_st* ssl);
  [[nodiscard]] Status begin();
  [[nodiscard]] Status expect_host(const std::string& host);
  [[nodiscard]] Step judge(int result);
  [[nodiscard]] std::string describe_failure() const;
  void collect_output();
  static int verify(int good, x509_store_ctx_st* store);

  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  bio_st* in_ = nullptr;   // owned by ssl_
  bio_st* out_ = nullptr;  // owned by ssl_
  std::string output_;
  std::size_t output_taken_ = 0;
  std::string host_;     // of the client's peer; "" in a server
  std::string refusal_;  // why the peer's certificate was refused
  std::string error_;
};

}  // namespace stowage::net
