// The calls on one connection to a gRPC server: bytes in, bytes out, no socket, no clock. Internal
// to src/grpc.
//
// A call ends with exactly one event, or with none if it is cancelled.
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

struct ClientSessionOptions {
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t buffered_bytes_max = std::size_t{64} << 20U;  // for incoming messages
  std::uint32_t streams_max = 256;
};

struct CallRequest {
  enum class Answer : std::uint8_t { one, many };

  std::string method;   // "/v1.PodResourcesLister/List"
  std::string request;  // one message
  Answer answer = Answer::one;
  net::Duration timeout{};                                  // sent to the server; 0: none
  std::size_t response_bytes_max = std::size_t{16} << 20U;  // of one message
};

struct CallEvent {
  StreamId call = 0;
  // For a call with many answers: one of them. For a call with one answer: the answer, at its
  // successful end.
  std::optional<std::string> message;
  std::optional<CallStatus> end;
  // At an end: the server has certainly not started the call. It may be sent elsewhere.
  bool untouched = false;
};

class ClientSession final : private Http2::Owner {
 public:
  explicit ClientSession(const ClientSessionOptions& options);

  // False: further calls need another connection.
  [[nodiscard]] bool takes_calls() const { return http2_.takes_streams(); }
  // Requires: takes_calls().
  [[nodiscard]] StreamId begin(CallRequest ask);
  void cancel(StreamId call);
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }

  void receive(std::string_view bytes) { http2_.receive(bytes); }
  [[nodiscard]] std::vector<CallEvent> take_events();
  [[nodiscard]] std::string output(std::size_t max) { return http2_.output(max); }

  void ping() { http2_.ping(); }
  [[nodiscard]] bool over() const { return http2_.over(); }
  [[nodiscard]] std::string why() const { return http2_.why(); }
  [[nodiscard]] std::uint64_t progress() const { return http2_.progress(); }
  [[nodiscard]] std::size_t buffered_bytes() const { return buffered_; }

 private:
  struct Call {
    explicit Call(const CallRequest& ask) : answer(ask.answer), reader(ask.response_bytes_max) {}

    [[nodiscard]] std::size_t held() const {
      return reader.held() + (message ? message->size() : 0);
    }

    CallRequest::Answer answer;
    MessageReader reader;
    std::optional<std::string> message;  // of a call with one answer
    int http_status = 0;
    bool answered = false;  // the headers of the answer are complete
    bool typed = false;     // its content type is gRPC
    std::optional<Code> code;
    bool repeated_code = false;
    std::string words;
  };

  void on_opened(StreamId /*stream*/) override {}  // servers open none
  void on_header(StreamId stream, std::string_view name, std::string_view value) override;
  void on_headers_end(StreamId stream) override;
  void on_headers_too_large(StreamId stream) override;
  void on_data(StreamId stream, std::string_view bytes) override;
  void on_input_end(StreamId stream) override;
  void on_closed(StreamId stream, std::uint32_t error) override;

  [[nodiscard]] Call* find(StreamId stream);
  void take_message(StreamId stream, Call& call);
  [[nodiscard]] static CallStatus verdict(const Call& call);
  void end(StreamId stream, CallStatus status);
  void fail(StreamId stream, Code code, std::string why);

  std::size_t buffered_max_;
  std::size_t buffered_ = 0;
  std::map<StreamId, Call> calls_;
  std::vector<CallEvent> events_;
  Http2 http2_;
};

}  // namespace stowage::grpc
