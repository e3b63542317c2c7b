#include "net/client_stream.h"

#include <utility>

#include <fmt/format.h>

#include "net/channel.h"
#include "net/error_text.h"
#include "net/message_parser.h"
#include "net/message_writer.h"

namespace stowage::net {
namespace {

// After the machine was suspended, much input may wait: it is read in pieces, so that other work
// runs in between.
constexpr std::size_t kReadMax = std::size_t{32} << 10U;
constexpr std::size_t kInputSlack = std::size_t{1} << 20U;
// For a stream that writes: a peer that reads nothing counts as gone.
constexpr Duration kWriteTimeout = std::chrono::seconds{10};

// Outlives its handle while one of its callbacks runs.
class StreamCore final : public Channel::Owner, public std::enable_shared_from_this<StreamCore> {
 public:
  StreamCore(EventLoop& loop, const HttpClientOptions& client, StreamRequest ask)
      : loop_(loop),
        ask_(std::move(ask)),
        peer_(authority(client.server)),
        parser_(
            {.header_bytes_max = client.header_bytes_max, .body_bytes_max = client.body_bytes_max}),
        timer_(loop) {
    parser_.reset(ResponseParser::Mode::streamed);
  }

  void open(const HttpClientOptions& client);
  void cancel();
  void write(std::string bytes);
  [[nodiscard]] std::size_t backlog() const {
    return upgraded_ && !over_ ? channel_->payload_left() : 0;
  }

 private:
  void on_open() override;
  void on_input() override;
  void on_drained() override {}
  void on_end(const ChannelEnd& end) override;

  void end_later(std::string why);
  void end(std::optional<CallError> error);
  void fail(std::string why, bool timed_out);
  void show_head();
  void show_upgrade();
  void hand_on();
  void restart_timer();
  [[nodiscard]] bool streams() { return parser_.response().status == 200; }

  EventLoop& loop_;
  StreamRequest ask_;
  std::string peer_;
  std::string head_;
  ResponseParser parser_;
  Timer timer_;
  std::shared_ptr<Channel> channel_;
  bool head_shown_ = false;
  bool upgrades_ = false;  // the request asks for another protocol
  bool upgraded_ = false;  // input is data of the other protocol
  bool over_ = false;      // cancelled or ended: no more callbacks
};

void StreamCore::open(const HttpClientOptions& client) {
  Result<std::string> head = request_head(client.server, ask_.request);
  if (ask_.refused || !head || (client.server.tls && !client.tls)) {
    end_later(ask_.refused ? fmt::format("the client of {} is closed", peer_)
              : !head      ? head.error().message
                           : fmt::format("no certificates are set for {}", peer_));
    return;
  }
  head_ = std::move(*head);
  upgrades_ = !find_header(ask_.request.headers, "upgrade").empty();
  channel_ = std::make_shared<Channel>(
      loop_, *this,
      ChannelOptions{.peer = peer_,
                     .input_max = client.header_bytes_max + kInputSlack,
                     .read_max = kReadMax,
                     .open_timeout = client.connect_timeout,
                     .write_timeout = upgrades_ ? kWriteTimeout : Duration{},
                     .tls = client.server.tls ? client.tls : nullptr});
  timer_.start(ask_.options.head_timeout, [this] {
    fail(fmt::format("{} did not answer a stream's request within {}", peer_,
                     duration_text(ask_.options.head_timeout)),
         true);
  });
  channel_->connect(client.server.host, client.server.port);
}

void StreamCore::cancel() {
  over_ = true;
  timer_.cancel();
  if (channel_) channel_->close();
}

void StreamCore::end_later(std::string why) {
  loop_.post([weak = weak_from_this(), why = std::move(why)] {
    const auto self = weak.lock();
    if (self) self->end(CallError{.message = why});
  });
}

void StreamCore::end(std::optional<CallError> error) {
  if (over_) return;
  const auto self = shared_from_this();
  cancel();
  if (ask_.handler.end) ask_.handler.end(std::move(error));
}

void StreamCore::fail(std::string why, bool timed_out) {
  end(CallError{.message = std::move(why), .sent = channel_->sent(), .timed_out = timed_out});
}

void StreamCore::restart_timer() {
  const Duration limit = ask_.options.silence_timeout;
  if (limit == Duration{}) {
    timer_.cancel();
    return;
  }
  timer_.start(limit, [this, limit] {
    fail(fmt::format("no data from {} for {}", peer_, duration_text(limit)), true);
  });
}

void StreamCore::on_open() {
  channel_->output().push(std::move(head_));
  channel_->output().push(std::move(ask_.request.body));
  channel_->flush();
}

void StreamCore::show_head() {
  head_shown_ = true;
  if (ask_.handler.head) ask_.handler.head(std::move(parser_.response()));
}

void StreamCore::write(std::string bytes) {
  if (over_ || !upgraded_ || bytes.empty()) return;
  channel_->output().push_payload(std::make_shared<const std::string>(std::move(bytes)));
  channel_->flush_soon();
}

// The server agrees to another protocol.
void StreamCore::show_upgrade() {
  upgraded_ = true;
  restart_timer();
  show_head();
  hand_on();
}

void StreamCore::hand_on() {
  const std::string_view input = channel_->input();
  if (over_ || input.empty()) return;
  restart_timer();
  if (ask_.handler.data) ask_.handler.data(input);
  if (!over_) channel_->consume(input.size());
}

void StreamCore::on_input() {
  const auto self = shared_from_this();
  if (upgraded_) return hand_on();
  for (;;) {
    const std::size_t taken = parser_.put(channel_->input());
    if (parser_.head_done() && streams() && !over_) {
      restart_timer();
      if (!head_shown_) {
        HttpResponse head{.status = 200, .headers = std::move(parser_.response().headers)};
        head_shown_ = true;
        if (ask_.handler.head) ask_.handler.head(std::move(head));
      }
      for (const std::string_view piece : parser_.pieces()) {
        if (over_) return;
        if (ask_.handler.data) ask_.handler.data(piece);
      }
    }
    if (over_) return;
    channel_->consume(taken);
    if (parser_.fault().kind != ParseFault::Kind::none) {
      fail(fmt::format("{}: {}", peer_, parser_.fault().message), false);
      return;
    }
    if (!parser_.done()) return;
    if (parser_.response().status == 101 && upgrades_) return show_upgrade();
    if (parser_.response().status >= 200) break;
    parser_.reset(ResponseParser::Mode::streamed);
  }
  if (!head_shown_) show_head();
  end(std::nullopt);
}

void StreamCore::on_end(const ChannelEnd& end_of_channel) {
  const auto self = shared_from_this();
  if (end_of_channel.kind != ChannelEnd::Kind::eof) {
    fail(end_of_channel.message, end_of_channel.kind == ChannelEnd::Kind::timed_out);
  } else if (upgraded_) {
    end(std::nullopt);
  } else if (parser_.put_eof()) {
    if (!head_shown_) show_head();
    end(std::nullopt);
  } else {
    fail(fmt::format("{} closed the connection {}", peer_,
                     head_shown_ ? "in the middle of a stream" : "before it answered"),
         false);
  }
}

class ClientStream final : public HttpClient::Stream {
 public:
  explicit ClientStream(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}
  ~ClientStream() override { core_->cancel(); }
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  void write(std::string bytes) override { core_->write(std::move(bytes)); }
  [[nodiscard]] std::size_t backlog() const override { return core_->backlog(); }

 private:
  std::shared_ptr<StreamCore> core_;
};

}  // namespace

std::unique_ptr<HttpClient::Stream> open_stream(EventLoop& loop, const HttpClientOptions& client,
                                                StreamRequest ask) {
  auto core = std::make_shared<StreamCore>(loop, client, std::move(ask));
  core->open(client);
  return std::make_unique<ClientStream>(std::move(core));
}

}  // namespace stowage::net
