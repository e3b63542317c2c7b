#include "net/byte_stream.h"

#include <cerrno>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/socket_base.hpp>
#include <fmt/format.h>

#include "net/address.h"
#include "net/channel.h"
#include "net/error_text.h"
#include "net/io.h"

namespace stowage::net {
namespace {

using boost::asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;
using AnySocket = boost::asio::generic::stream_protocol::socket;

// When the system is out of files or memory for connections: time for some to end.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

std::string name_of(const std::string& path) { return "unix:" + path; }

// Outlives its handle while one of its callbacks runs.
class StreamCore final : public Channel::Owner, public std::enable_shared_from_this<StreamCore> {
 public:
  StreamCore(EventLoop& loop, const std::string& path, const ByteStreamOptions& options)
      : loop_(loop),
        path_(path),
        channel_(std::make_shared<Channel>(loop, *this,
                                           ChannelOptions{.peer = name_of(path),
                                                          .input_max = options.read_max,
                                                          .read_max = options.read_max,
                                                          .open_timeout = options.open_timeout,
                                                          .write_timeout = options.write_timeout,
                                                          .tls = nullptr})) {}

  void set_socket(AnySocket socket) { socket_ = std::move(socket); }

  void start(ByteStream::Handler handler) {
    handler_ = std::move(handler);
    if (socket_) {
      channel_->accept(std::move(*socket_));
    } else if (is_socket_path(path_)) {
      channel_->connect(path_, 0);
    } else {
      loop_.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self) self->end(fmt::format("\"{}\" is not the path of a Unix socket", self->path_));
      });
    }
  }

  void write(std::string bytes) {
    if (over_) return;
    channel_->output().push_payload(std::make_shared<const std::string>(std::move(bytes)));
    channel_->flush_soon();
  }

  [[nodiscard]] std::size_t backlog() const { return over_ ? 0 : channel_->payload_left(); }

  void finish(Duration linger) {
    if (std::exchange(over_, true)) return;
    channel_->finish_alone(linger);
  }

  void cancel() {
    if (std::exchange(over_, true)) return;
    channel_->close();
  }

 private:
  void on_open() override {
    const auto self = shared_from_this();
    if (handler_.open) handler_.open();
    if (!over_) channel_->flush_soon();  // writes made before start()
  }

  void on_input() override {
    const auto self = shared_from_this();
    const std::string_view bytes = channel_->input();
    if (handler_.bytes) handler_.bytes(bytes);
    if (!over_) channel_->consume(bytes.size());
  }

  void on_drained() override {
    const auto self = shared_from_this();
    if (handler_.drained) handler_.drained();
  }

  void on_end(const ChannelEnd& end_of_channel) override {
    end(end_of_channel.kind == ChannelEnd::Kind::eof
            ? fmt::format("{} closed the connection", name_of(path_))
            : end_of_channel.message);
  }

  void end(const std::string& why) {
    const auto self = shared_from_this();
    if (over_) return;
    cancel();
    if (handler_.end) handler_.end(why);
  }

  EventLoop& loop_;
  std::string path_;
  std::shared_ptr<Channel> channel_;
  std::optional<AnySocket> socket_;  // accepted, until start()
  ByteStream::Handler handler_;
  bool over_ = false;  // cancelled, finished or ended: no more callbacks
};

class Stream final : public ByteStream {
 public:
  explicit Stream(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}
  ~Stream() override { core_->cancel(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void start(Handler handler) override { core_->start(std::move(handler)); }
  void write(std::string bytes) override { core_->write(std::move(bytes)); }
  [[nodiscard]] std::size_t backlog() const override { return core_->backlog(); }
  void finish(Duration linger) override { core_->finish(linger); }

 private:
  std::shared_ptr<StreamCore> core_;
};

// The identity of the file at a path.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool socket = false;
  friend bool operator==(const FileId&, const FileId&) = default;
};

FileId file_at(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  return {.device = found.st_dev, .inode = found.st_ino, .socket = S_ISSOCK(found.st_mode)};
}

class ListenerCore final : public std::enable_shared_from_this<ListenerCore> {
 public:
  ListenerCore(EventLoop& loop, UnixListenOptions options, UnixListener::Accepted accepted)
      : loop_(loop),
        options_(std::move(options)),
        accepted_(std::make_shared<const UnixListener::Accepted>(std::move(accepted))),
        acceptor_(loop.io().context),
        pause_(loop) {}

  [[nodiscard]] Status listen() {
    const std::string& path = options_.path;
    const auto refuse = [&](const std::string& why) {
      return fail(fmt::format("cannot listen on {}: {}", name_of(path), why));
    };
    if (!is_socket_path(path)) return refuse("it is not the path of a Unix socket");
    if (file_at(path).socket) ::unlink(path.c_str());
    ErrorCode error;
    acceptor_.open(stream_protocol(), error);
    if (!error) acceptor_.bind(stream_protocol::endpoint(path), error);
    if (error) return refuse(error_text(error));
    own_ = file_at(path);
    // No client can connect before listen().
    if (::chmod(path.c_str(), options_.mode) != 0) {
      error.assign(errno, boost::system::system_category());
    } else {
      acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    }
    if (!error) return {};
    close();
    return refuse(error_text(error));
  }

  void accept() {
    acceptor_.async_accept(
        [weak = weak_from_this()](const ErrorCode& error, stream_protocol::socket socket) {
          const auto self = weak.lock();
          if (!self || !self->acceptor_.is_open()) return;
          if (!error) {
            self->hand_over(std::move(socket));
          } else if (error != boost::asio::error::connection_aborted) {
            self->pause_.start(kAcceptPause, [core = self.get()] { core->accept(); });
            return;
          }
          if (self->acceptor_.is_open()) self->accept();
        });
  }

  void close() {
    pause_.cancel();
    ErrorCode ignored;
    acceptor_.close(ignored);
    if (own_.socket && file_at(options_.path) == own_) ::unlink(options_.path.c_str());
    own_ = {};
  }

 private:
  void hand_over(AnySocket socket) {
    auto core = std::make_shared<StreamCore>(loop_, options_.path, options_.streams);
    core->set_socket(std::move(socket));
    const auto accepted = accepted_;  // the call may destroy the listener
    (*accepted)(std::make_unique<Stream>(std::move(core)));
  }

  EventLoop& loop_;
  UnixListenOptions options_;
  std::shared_ptr<const UnixListener::Accepted> accepted_;
  stream_protocol::acceptor acceptor_;
  Timer pause_;
  FileId own_;
};

class Listener final : public UnixListener {
 public:
  explicit Listener(std::shared_ptr<ListenerCore> core) : core_(std::move(core)) {}
  ~Listener() override { core_->close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  std::shared_ptr<ListenerCore> core_;
};

}  // namespace

std::unique_ptr<ByteStream> ByteStream::connect(EventLoop& loop, const std::string& path,
                                                const ByteStreamOptions& options) {
  return std::make_unique<Stream>(std::make_shared<StreamCore>(loop, path, options));
}

Result<std::unique_ptr<UnixListener>> UnixListener::listen(EventLoop& loop,
                                                           UnixListenOptions options,
                                                           Accepted accepted) {
  auto core = std::make_shared<ListenerCore>(loop, std::move(options), std::move(accepted));
  STOWAGE_TRY_VOID(core->listen());
  core->accept();
  return std::unique_ptr<UnixListener>(std::make_unique<Listener>(std::move(core)));
}

}  // namespace stowage::net
