// The calls on one connection of a gRPC client to us: bytes in, bytes out, no socket, no clock.
// Internal to src/grpc.
//
//   begun --request complete--> request --end()--> ended
//     |                            '--the peer resets it--> closed, ended
//     '--refused, reset--> closed, ended
//
// Every call has one request and any number of answers. Invalid requests are answered here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/http2.h"
#include "grpc/message_reader.h"
#include "grpc/status.h"
#include "net/event_loop.h"

namespace stowage::grpc {

struct ServerSessionOptions {
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t request_bytes_max = std::size_t{4} << 20U;
  std::size_t buffered_bytes_max = std::size_t{16} << 20U;  // for incoming requests
  std::uint32_t streams_max = 100;
};

struct ServerEvent {
  enum class Kind : std::uint8_t {
    begun,    // a call whose request is arriving
    request,  // the request is complete
    closed,   // by the peer, or refused here: no answer is wanted
  };
  Kind kind = Kind::begun;
  StreamId call = 0;
  std::string method;                    // with begun
  std::optional<net::Duration> timeout;  // with begun: how long the peer waits
  std::string message;                   // with request
};

class ServerSession final : private Http2::Owner {
 public:
  explicit ServerSession(const ServerSessionOptions& options);

  void receive(std::string_view bytes) { http2_.receive(bytes); }
  [[nodiscard]] std::vector<ServerEvent> take_events();
  [[nodiscard]] std::string output(std::size_t max) { return http2_.output(max); }

  // From begun on. Calls that have ended are ignored.
  void write(StreamId call, std::string message);
  void end(StreamId call, const CallStatus& status);
  // Bytes of answers that wait for the peer to take them.
  [[nodiscard]] std::size_t backlog(StreamId call) const { return http2_.backlog(call); }
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }

  void ping() { http2_.ping(); }
  void send_goaway() { http2_.send_goaway(); }
  [[nodiscard]] bool over() const { return http2_.over(); }
  [[nodiscard]] std::string why() const { return http2_.why(); }
  [[nodiscard]] std::size_t streams() const { return http2_.streams(); }
  [[nodiscard]] std::size_t buffered_bytes() const { return buffered_; }

 private:
  struct Call {
    explicit Call(std::size_t message_bytes_max) : reader(message_bytes_max) {}
    [[nodiscard]] std::size_t held() const {
      return reader.held() + (message ? message->size() : 0);
    }

    std::string verb;
    std::string method;
    bool typed = false;  // its content type is gRPC
    std::string timeout;
    bool begun = false;
    MessageReader reader;
    std::optional<std::string> message;
    bool complete = false;  // the request was passed on
    bool answering = false;
  };

  void on_opened(StreamId stream) override;
  void on_header(StreamId stream, std::string_view name, std::string_view value) override;
  void on_headers_end(StreamId stream) override;
  void on_headers_too_large(StreamId stream) override;
  void on_data(StreamId stream, std::string_view bytes) override;
  void on_input_end(StreamId stream) override;
  void on_closed(StreamId stream, std::uint32_t error) override;

  [[nodiscard]] Call* find(StreamId stream);
  void refuse(StreamId stream, Code code, std::string why);
  void refuse_http(StreamId stream, int status);
  void forget(StreamId stream);

  ServerSessionOptions options_;
  std::size_t buffered_ = 0;
  std::map<StreamId, Call> calls_;
  std::vector<ServerEvent> events_;
  Http2 http2_;
};

}  // namespace stowage::grpc
