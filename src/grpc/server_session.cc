#include "grpc/server_session.h"

#include <utility>

#include <fmt/format.h>

#include "grpc/header_text.h"

namespace stowage::grpc {
namespace {

// How much a client may send in advance. Requests are small.
constexpr std::uint32_t kWindow = std::uint32_t{1} << 20U;

Headers answer_headers() { return {{":status", "200"}, {"content-type", "application/grpc"}}; }

void add_status(Headers& headers, const CallStatus& status) {
  headers.push_back({"grpc-status", fmt::format("{}", static_cast<unsigned>(status.code))});
  if (!status.message.empty()) {
    headers.push_back({"grpc-message", encode_message(status.message)});
  }
}

}  // namespace

ServerSession::ServerSession(const ServerSessionOptions& options)
    : options_(options),
      http2_(Http2::Side::server,
             {.header_bytes_max = options.header_bytes_max,
              .streams_max = options.streams_max,
              .window_bytes = kWindow},
             *this) {}

std::vector<ServerEvent> ServerSession::take_events() { return std::exchange(events_, {}); }

ServerSession::Call* ServerSession::find(StreamId stream) {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : &found->second;
}

void ServerSession::on_opened(StreamId stream) {
  calls_.emplace(stream, Call(options_.request_bytes_max));
}

void ServerSession::on_header(StreamId stream, std::string_view name, std::string_view value) {
  Call* const call = find(stream);
  if (call == nullptr || call->begun) return;
  if (name == ":method") {
    call->verb = value;
  } else if (name == ":path") {
    call->method = value;
  } else if (name == "content-type") {
    call->typed = is_grpc_type(value);
  } else if (name == "grpc-timeout") {
    call->timeout = value;
  }
}

void ServerSession::on_headers_end(StreamId stream) {
  Call* const call = find(stream);
  if (call == nullptr || call->begun) return;
  if (call->verb != "POST") return refuse_http(stream, 405);
  if (!call->typed) return refuse_http(stream, 415);
  const auto timeout = parse_timeout(call->timeout);
  if (!timeout && !call->timeout.empty()) {
    return refuse(stream, Code::internal,
                  fmt::format("grpc-timeout \"{}\" is not a valid timeout", shown(call->timeout)));
  }
  call->begun = true;
  events_.push_back({.kind = ServerEvent::Kind::begun,
                     .call = stream,
                     .method = std::exchange(call->method, {}),
                     .timeout = timeout});
}

void ServerSession::on_headers_too_large(StreamId stream) {
  if (find(stream) != nullptr) forget(stream);  // it is being reset
}

void ServerSession::on_data(StreamId stream, std::string_view bytes) {
  while (!bytes.empty()) {
    Call* const call = find(stream);
    if (call == nullptr) return;
    if (call->message) {
      return refuse(stream, Code::unimplemented, "the request has more than one message");
    }
    const std::size_t before = call->reader.held();
    bytes.remove_prefix(call->reader.put(bytes));
    buffered_ += call->reader.held() - before;
    if (call->reader.fault() == MessageReader::Fault::compressed) {
      refuse(stream, Code::unimplemented, "the request is compressed");
    } else if (call->reader.fault() == MessageReader::Fault::too_long) {
      refuse(stream, Code::resource_exhausted,
             fmt::format("a request of {} bytes is longer than {}", call->reader.length(),
                         options_.request_bytes_max));
    } else if (buffered_ > options_.buffered_bytes_max) {
      refuse(stream, Code::resource_exhausted, "too many requests are coming in at once");
    } else if (call->reader.complete()) {
      call->message = call->reader.take();
    }
  }
}

void ServerSession::on_input_end(StreamId stream) {
  Call* const call = find(stream);
  if (call == nullptr || call->complete) return;
  if (!call->reader.between_messages()) {
    return refuse(stream, Code::internal, "the request is cut off");
  }
  if (!call->message) return refuse(stream, Code::unimplemented, "the request has no message");
  call->complete = true;
  buffered_ -= call->message->size();
  events_.push_back(
      {.kind = ServerEvent::Kind::request, .call = stream, .message = std::move(*call->message)});
  call->message.emplace();  // nothing is kept, and a further message is an error
}

void ServerSession::on_closed(StreamId stream, std::uint32_t /*error*/) {
  if (find(stream) != nullptr) forget(stream);
}

void ServerSession::write(StreamId stream, std::string message) {
  Call* const call = find(stream);
  if (call == nullptr) return;
  if (!std::exchange(call->answering, true)) {
    http2_.respond(stream, answer_headers(), Http2::Body::follows);
  }
  http2_.write(stream, message_head(message.size()));
  http2_.write(stream, std::move(message));
}

void ServerSession::end(StreamId stream, const CallStatus& status) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  Headers trailers;
  if (found->second.answering) {
    add_status(trailers, status);
    http2_.finish(stream, std::move(trailers));
  } else {
    trailers = answer_headers();
    add_status(trailers, status);
    http2_.respond(stream, trailers, Http2::Body::none);
  }
  buffered_ -= found->second.held();
  calls_.erase(found);
}

void ServerSession::refuse(StreamId stream, Code code, std::string why) {
  const bool begun = find(stream)->begun;
  end(stream, {code, std::move(why)});
  if (begun) events_.push_back({.kind = ServerEvent::Kind::closed, .call = stream});
}

void ServerSession::refuse_http(StreamId stream, int status) {
  http2_.respond(stream, {{":status", fmt::format("{}", status)}}, Http2::Body::none);
  calls_.erase(stream);
}

// Without an answer.
void ServerSession::forget(StreamId stream) {
  const auto found = calls_.find(stream);
  buffered_ -= found->second.held();
  const bool begun = found->second.begun;
  calls_.erase(found);
  if (begun) events_.push_back({.kind = ServerEvent::Kind::closed, .call = stream});
}

}  // namespace stowage::grpc
