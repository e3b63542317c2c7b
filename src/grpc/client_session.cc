#include "grpc/client_session.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "grpc/header_text.h"

namespace stowage::grpc {
namespace {

constexpr int kHttpOk = 200;
// How much a server may send in advance. The largest answer passes without waiting for the window.
constexpr std::uint32_t kWindow = std::uint32_t{16} << 20U;

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string fault_text(const MessageReader& reader, std::size_t max) {
  if (reader.fault() == MessageReader::Fault::compressed) {
    return "the answer is compressed, which was not asked for";
  }
  return fmt::format("an answer of {} bytes is longer than {}", reader.length(), max);
}

}  // namespace

ClientSession::ClientSession(const ClientSessionOptions& options)
    : buffered_max_(options.buffered_bytes_max),
      http2_(Http2::Side::client,
             {.header_bytes_max = options.header_bytes_max,
              .streams_max = options.streams_max,
              .window_bytes = kWindow},
             *this) {}

StreamId ClientSession::begin(CallRequest ask) {
  Headers headers = {{":method", "POST"},
                     {":scheme", "http"},
                     {":path", ask.method},
                     {":authority", "localhost"},
                     {"content-type", "application/grpc"},
                     {"te", "trailers"},
                     {"user-agent", "stowage"}};
  if (ask.timeout > net::Duration{}) headers.push_back({"grpc-timeout", timeout_text(ask.timeout)});
  const StreamId stream = http2_.open(headers);
  http2_.write(stream, message_head(ask.request.size()));
  http2_.write(stream, std::move(ask.request));
  http2_.finish(stream, {});
  calls_.emplace(stream, Call(ask));
  return stream;
}

void ClientSession::cancel(StreamId call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  buffered_ -= found->second.held();
  calls_.erase(found);
  http2_.drop(call, NGHTTP2_CANCEL);
}

std::vector<CallEvent> ClientSession::take_events() { return std::exchange(events_, {}); }

ClientSession::Call* ClientSession::find(StreamId stream) {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : &found->second;
}

void ClientSession::on_header(StreamId stream, std::string_view name, std::string_view value) {
  Call* const call = find(stream);
  if (call == nullptr) return;
  if (name == ":status") {
    call->http_status = number_of(value);
  } else if (name == "content-type") {
    call->typed = is_grpc_type(value);
  } else if (name == "grpc-status") {
    call->repeated_code = call->code.has_value();
    call->code = code_of_text(value);
  } else if (name == "grpc-message") {
    call->words = decode_message(value);
  }
}

void ClientSession::on_headers_end(StreamId stream) {
  Call* const call = find(stream);
  if (call == nullptr || call->answered) return;  // trailers: the end of input follows
  if (call->http_status / 100 == 1) return;       // an interim answer: the real one follows
  call->answered = true;
  if (call->code) return;  // only the status; nothing else follows
  if (call->http_status != kHttpOk) {
    fail(stream, code_of_http(call->http_status),
         fmt::format("the answer has the HTTP status {}", call->http_status));
  } else if (!call->typed) {
    fail(stream, Code::unknown, "the answer is not gRPC");
  }
}

void ClientSession::on_headers_too_large(StreamId stream) {
  if (find(stream) != nullptr) {
    fail(stream, Code::resource_exhausted, "the headers of the answer are too large");
  }
}

void ClientSession::on_data(StreamId stream, std::string_view bytes) {
  while (!bytes.empty()) {
    Call* const call = find(stream);
    if (call == nullptr) return;
    if (call->message) {
      return fail(stream, Code::internal, "there are several answers where one was expected");
    }
    const std::size_t before = call->reader.held();
    bytes.remove_prefix(call->reader.put(bytes));
    buffered_ += call->reader.held() - before;
    if (call->reader.fault() != MessageReader::Fault::none) {
      const bool compressed = call->reader.fault() == MessageReader::Fault::compressed;
      fail(stream, compressed ? Code::internal : Code::resource_exhausted,
           fault_text(call->reader, call->reader.bytes_max()));
    } else if (buffered_ > buffered_max_) {
      fail(
          stream, Code::resource_exhausted,
          fmt::format("the answers to all calls are longer than {} bytes together", buffered_max_));
    } else if (call->reader.complete()) {
      take_message(stream, *call);
    }
  }
}

void ClientSession::take_message(StreamId stream, Call& call) {
  std::string message = call.reader.take();
  if (call.answer == CallRequest::Answer::one) {
    call.message = std::move(message);
    return;
  }
  buffered_ -= message.size();
  events_.push_back({.call = stream, .message = std::move(message)});
}

void ClientSession::on_input_end(StreamId stream) {
  const Call* const call = find(stream);
  if (call == nullptr) return;
  end(stream, verdict(*call));
  http2_.drop(stream, NGHTTP2_CANCEL);  // in case the server did not wait for the whole request
}

CallStatus ClientSession::verdict(const Call& call) {
  if (!call.code) return {Code::internal, "the answer ended without a status"};
  if (call.repeated_code) return {Code::internal, "the answer has several statuses"};
  if (*call.code != Code::ok) return {*call.code, call.words, true};
  if (!call.reader.between_messages()) return {Code::internal, "the answer is cut off"};
  if (call.answer == CallRequest::Answer::one && !call.message) {
    return {Code::internal, "the status is OK, but the answer is missing"};
  }
  return {Code::ok, call.words, true};
}

void ClientSession::on_closed(StreamId stream, std::uint32_t error) {
  if (find(stream) == nullptr) return;
  const std::string why = http2_.why();
  end(stream, {code_of_reset(error),
               fmt::format("the call was reset: {}{}{}", nghttp2_http2_strerror(error),
                           why.empty() ? "" : "; ", why)});
  events_.back().untouched = error == NGHTTP2_REFUSED_STREAM;
}

void ClientSession::end(StreamId stream, CallStatus status) {
  const auto found = calls_.find(stream);
  buffered_ -= found->second.held();
  CallEvent event{.call = stream, .end = std::move(status)};
  if (event.end->ok()) event.message = std::move(found->second.message);
  calls_.erase(found);
  events_.push_back(std::move(event));
}

void ClientSession::fail(StreamId stream, Code code, std::string why) {
  end(stream, {code, std::move(why)});
  http2_.drop(stream, NGHTTP2_CANCEL);
}

}  // namespace stowage::grpc
