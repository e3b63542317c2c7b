#include "net/server_connection.h"

#include <utility>

#include "net/message_writer.h"
#include "net/server_answer.h"

namespace stowage::net {
namespace {

constexpr std::size_t kInputSlack = std::size_t{64} << 10U;
constexpr Duration kLinger = std::chrono::seconds{1};
// A peer may be writing its next request when the server stops.
constexpr Duration kLastRequest = std::chrono::milliseconds{300};

int status_of(ParseFault::Kind kind) {
  switch (kind) {
    case ParseFault::Kind::header_too_large: return 431;
    case ParseFault::Kind::body_too_large: return 413;
    default: return 400;
  }
}

bool has_no_body(int status) { return status == 204 || status == 304 || status / 100 == 1; }

// Removes scheme and host, which a peer may send as if to a proxy.
bool normalise_target(std::string& target) {
  if (target.starts_with('/') || target == "*") return true;
  const std::size_t scheme_end = target.find("://");
  if (scheme_end == std::string::npos) return false;
  const std::string scheme = target.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") return false;
  const std::size_t path = target.find_first_of("/?", scheme_end + 3);
  if (path == std::string::npos) {
    target = "/";
  } else {
    target = (target[path] == '?' ? "/" : "") + target.substr(path);
  }
  return true;
}

}  // namespace

ServerConnection::ServerConnection(EventLoop& loop, Host& host, const HttpServerOptions& options,
                                   std::shared_ptr<BodyBudget> budget, std::string peer)
    : loop_(loop),
      host_(&host),
      options_(options),
      budget_(std::move(budget)),
      peer_(std::move(peer)),
      parser_(
          {.header_bytes_max = options.header_bytes_max, .body_bytes_max = options.body_bytes_max}),
      timer_(loop) {}

void ServerConnection::open(boost::asio::ip::tcp::socket socket) {
  channel_ =
      std::make_shared<Channel>(loop_, *this,
                                ChannelOptions{.peer = peer_,
                                               .input_max = options_.header_bytes_max + kInputSlack,
                                               .open_timeout = options_.handshake_timeout,
                                               .write_timeout = options_.write_timeout,
                                               .tls = options_.tls});
  channel_->accept(std::move(socket));
}

void ServerConnection::stop() {
  stopping_ = true;
  keep_alive_ = false;
  if (phase_ == Phase::idle) {
    timer_.start(kLastRequest, [this] { finish(); });
  }
}

void ServerConnection::close() {
  host_ = nullptr;
  phase_ = Phase::finishing;
  timer_.cancel();
  channel_->close();
  data_.reset();
  charge_.clear();
  if (ServerAnswer* answer = std::exchange(answer_, nullptr)) answer->forget();
}

void ServerConnection::abort() {
  const auto self = shared_from_this();
  Host* host = host_;
  close();
  if (host != nullptr) host->connection_ended(*this);
}

// The peer is gone, or must go.
void ServerConnection::lose() {
  const auto self = shared_from_this();
  ServerAnswer* answer = std::exchange(answer_, nullptr);
  abort();
  if (answer != nullptr) answer->connection_lost();
}

void ServerConnection::finish() {
  phase_ = Phase::finishing;
  timer_.cancel();
  channel_->finish(kLinger);
}

void ServerConnection::on_open() {
  identity_ = channel_->identity();
  become_idle();
}

void ServerConnection::become_idle() {
  phase_ = Phase::idle;
  parser_.reset();
  channel_->release_memory();
  timer_.start(stopping_ ? kLastRequest : options_.idle_timeout, [this] { finish(); });
  host_->connection_rests(*this);
}

void ServerConnection::on_input() {
  if (data_) {
    hand_on();
  } else {
    parse();
  }
}

// Passes on input after an upgrade. The handler may end the connection.
void ServerConnection::hand_on() {
  const auto self = shared_from_this();
  const auto data = data_;
  const std::string_view input = channel_->input();
  if (!data || input.empty() || phase_ != Phase::answering) return;
  (*data)(input);
  if (host_ != nullptr) channel_->consume(input.size());
}

// Handles pipelined requests, as far as they have arrived and are answered at once.
void ServerConnection::parse() {
  if (parsing_) return;
  const auto self = shared_from_this();
  parsing_ = true;
  while (!channel_->input().empty() && (phase_ == Phase::idle || phase_ == Phase::reading)) {
    if (phase_ == Phase::idle) {
      // Empty lines before a request must be ignored.
      const std::string_view input = channel_->input();
      if (input.front() == '\r' || input.front() == '\n') {
        channel_->consume(1);
        continue;
      }
      phase_ = Phase::reading;
      continued_ = head_only_ = http_1_0_ = false;
      charge_ = BodyCharge(budget_);
      timer_.start(options_.request_timeout,
                   [this] { refuse(408, "the request did not arrive in time"); });
    }
    read_on();
    if (phase_ == Phase::reading) break;
  }
  parsing_ = false;
}

void ServerConnection::read_on() {
  channel_->consume(parser_.put(channel_->input()));
  const ParseFault& fault = parser_.fault();
  if (fault.kind != ParseFault::Kind::none) return refuse(status_of(fault.kind), fault.message);
  if (!charge_.raise(parser_.request().body.size())) {
    refuse(503, "the server holds too many requests; try again later", {{"Retry-After", "1"}});
    return;
  }
  if (parser_.done()) {
    dispatch();
  } else if (parser_.head_done() && parser_.expects_continue() && !continued_ &&
             !parser_.http_1_0()) {
    continued_ = true;
    channel_->output().push("HTTP/1.1 100 Continue\r\n\r\n");
    channel_->flush();
  }
}

void ServerConnection::dispatch() {
  timer_.cancel();
  HttpRequest& http = parser_.request();
  keep_alive_ = parser_.keep_alive() && !stopping_;
  http_1_0_ = parser_.http_1_0();
  head_only_ = http.method == "HEAD";
  if (!normalise_target(http.target)) {
    refuse(400, "the request's target does not begin with /");
    return;
  }
  phase_ = Phase::answering;
  auto answer = std::make_shared<ServerAnswer>(loop_, *this, std::move(charge_));
  answer_ = answer.get();
  host_->handle({.http = std::move(http),
                 .peer = peer_,
                 .client_subject = identity_.common_name,
                 .client_groups = identity_.organisations,
                 .client_authorities = identity_.authorities},
                std::move(answer));
}

// Answers with an error and ends. The rest of the request is dropped.
void ServerConnection::refuse(int status, std::string why, Headers headers) {
  keep_alive_ = false;
  parser_.reset();
  charge_.clear();
  headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  why += '\n';
  send({.status = status, .headers = std::move(headers), .body = std::move(why)});
}

void ServerConnection::send(HttpResponse response) {
  const bool none = has_no_body(response.status);
  channel_->output().push(response_head(
      response, {.body = none ? ResponseFraming::Body::none : ResponseFraming::Body::sized,
                 .size = response.body.size(),
                 .keep_alive = keep_alive_,
                 .http_1_0 = http_1_0_}));
  if (!none && !head_only_) channel_->output().push(std::move(response.body));
  channel_->flush();
  answer_queued();
}

void ServerConnection::begin(const HttpResponse& head) {
  using Body = ResponseFraming::Body;
  const bool none = has_no_body(head.status);
  if (http_1_0_ && !none) keep_alive_ = false;
  chunked_ = !http_1_0_ && !none;
  if (none) head_only_ = true;
  channel_->output().push(response_head(head, {.body = none        ? Body::none
                                                       : http_1_0_ ? Body::until_close
                                                                   : Body::chunked,
                                               .keep_alive = keep_alive_,
                                               .http_1_0 = http_1_0_}));
  channel_->flush();
}

void ServerConnection::upgrade(std::string protocol, std::function<void(std::string_view)> data) {
  keep_alive_ = chunked_ = head_only_ = false;
  channel_->output().push(
      response_head({.status = 101, .headers = {{"Upgrade", std::move(protocol)}}},
                    {.body = ResponseFraming::Body::upgrade}));
  channel_->flush();
  data_ = std::make_shared<const std::function<void(std::string_view)>>(std::move(data));
  if (channel_->input().empty()) return;
  // The peer did not wait for the 100. Posted: the handler must not run inside an answer.
  loop_.post([weak = weak_from_this()] {
    if (const auto connection = weak.lock()) connection->hand_on();
  });
}

void ServerConnection::write(std::shared_ptr<const std::string> chunk) {
  if (head_only_ || !chunk || chunk->empty()) return;
  if (chunked_) channel_->output().push(chunk_head(chunk->size()));
  channel_->output().push_payload(std::move(chunk));
  if (chunked_) channel_->output().push("\r\n");
  channel_->flush_soon();
}

void ServerConnection::end() {
  if (chunked_ && !head_only_) channel_->output().push("0\r\n\r\n");
  channel_->flush();
  answer_queued();
}

void ServerConnection::answer_queued() {
  phase_ = Phase::flushing;
  if (channel_->drained()) answer_sent();
}

void ServerConnection::on_drained() {
  if (phase_ == Phase::flushing) answer_sent();
}

void ServerConnection::answer_sent() {
  const auto self = shared_from_this();
  if (ServerAnswer* answer = std::exchange(answer_, nullptr)) answer->forget();
  if (host_ == nullptr) return;
  if (!keep_alive_) return finish();
  become_idle();
  if (parsing_ || channel_->input().empty()) return;
  // The next request has already arrived. Posted: the handler must not run inside an answer.
  loop_.post([weak = weak_from_this()] {
    if (const auto connection = weak.lock()) connection->parse();
  });
}

void ServerConnection::on_end(const ChannelEnd& end) {
  if (end.kind == ChannelEnd::Kind::eof && phase_ == Phase::flushing) {
    phase_ = Phase::finishing;
    channel_->finish(kLinger);
    return;
  }
  if (phase_ == Phase::finishing && answer_ != nullptr) std::exchange(answer_, nullptr)->forget();
  lose();
}

}  // namespace stowage::net
