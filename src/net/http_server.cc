#include "net/http_server.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/socket_base.hpp>
#include <fmt/format.h>

#include "net/ascii.h"
#include "net/body_budget.h"
#include "net/error_text.h"
#include "net/file_limit.h"
#include "net/io.h"
#include "net/message_writer.h"
#include "net/server_connection.h"

namespace stowage::net {
namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// When the system is out of files or memory for connections: time for some to end.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

std::string text_of(const tcp::endpoint& endpoint) {
  return authority({.host = endpoint.address().to_string(), .port = endpoint.port()});
}

}  // namespace

bool asks_for(const HttpRequest& request, std::string_view protocol) {
  return equals_ignoring_case(find_header(request.headers, "upgrade"), protocol) &&
         equals_ignoring_case(find_header(request.headers, "connection"), "upgrade");
}

class ServerCore final : public ServerConnection::Host,
                         public std::enable_shared_from_this<ServerCore> {
 public:
  ServerCore(EventLoop& loop, HttpServerOptions options, HttpServer::Handler handler)
      : loop_(loop),
        options_(std::move(options)),
        handler_(std::make_shared<const HttpServer::Handler>(std::move(handler))),
        budget_(std::make_shared<BodyBudget>(BodyBudget{.max = options_.buffered_bytes_max})),
        acceptor_(loop.io().context),
        pause_(loop),
        grace_(loop) {}

  [[nodiscard]] Status listen();
  void accept();
  void shutdown(Duration grace, std::function<void()> done);
  void close();
  void set_tls(std::shared_ptr<TlsContext> tls) { options_.tls = std::move(tls); }
  void retire();
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::size_t buffered_bytes() const { return budget_->held; }
  [[nodiscard]] const HttpServerOptions& options() const { return options_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int listener() { return acceptor_.is_open() ? acceptor_.native_handle() : -1; }

 private:
  void share(const tcp::endpoint& endpoint, ErrorCode& error);
  void stop_listening();
  void handle(ServerRequest request, std::shared_ptr<Responder> responder) override;
  void connection_ended(ServerConnection& connection) override;
  void connection_rests(ServerConnection& connection) override;
  [[nodiscard]] bool make_room();
  void accepted(tcp::socket socket);
  void maybe_done();

  EventLoop& loop_;
  HttpServerOptions options_;
  std::shared_ptr<const HttpServer::Handler> handler_;
  std::shared_ptr<BodyBudget> budget_;
  tcp::acceptor acceptor_;
  Timer pause_;
  Timer grace_;
  std::uint16_t port_ = 0;
  // The connection that has waited longest for a request is first; one that answers keeps its
  // place.
  using Order = std::list<std::shared_ptr<ServerConnection>>;
  Order order_;
  std::unordered_map<ServerConnection*, Order::iterator> connections_;
  std::vector<std::function<void()>> done_;
};

// A duplicate of the socket shares its accept queue.
void ServerCore::share(const tcp::endpoint& endpoint, ErrorCode& error) {
  const int own = fcntl(options_.beside->listener(), F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    error.assign(errno, boost::system::system_category());
    return;
  }
  acceptor_.assign(endpoint.protocol(), own, error);
  if (error) ::close(own);
}

// Closing is not enough: while another duplicate is open, the poller would still report this one.
void ServerCore::stop_listening() {
  if (!acceptor_.is_open()) return;
  ErrorCode error;
  const int socket = acceptor_.release(error);
  if (!error) ::close(socket);
}

Status ServerCore::listen() {
  const std::string where = authority({.host = options_.address, .port = options_.port});
  ErrorCode error;
  const auto address = boost::asio::ip::make_address(options_.address, error);
  if (error) {
    return fail(
        fmt::format("cannot listen on {}: \"{}\" is not an IP address", where, options_.address));
  }
  const tcp::endpoint endpoint(address, options_.port);
  if (options_.beside != nullptr) {
    share(endpoint, error);
    options_.beside = nullptr;
  } else {
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(boost::asio::socket_base::reuse_address(true), error);
    if (!error && address.is_v6()) {
      acceptor_.set_option(boost::asio::ip::v6_only(!address.is_unspecified()), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  }
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) return fail(fmt::format("cannot listen on {}: {}", where, error_text(error)));
  return {};
}

void ServerCore::accept() {
  acceptor_.async_accept([weak = weak_from_this()](const ErrorCode& error, tcp::socket socket) {
    const auto self = weak.lock();
    if (!self || !self->acceptor_.is_open()) return;
    if (!error) {
      self->accepted(std::move(socket));
    } else if (error != boost::asio::error::connection_aborted) {
      self->pause_.start(kAcceptPause, [core = self.get()] { core->accept(); });
      return;
    }
    self->accept();
  });
}

void ServerCore::accepted(tcp::socket socket) {
  ErrorCode error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error || !make_room()) return;
  auto connection =
      std::make_shared<ServerConnection>(loop_, *this, options_, budget_, text_of(peer));
  connections_.emplace(connection.get(), order_.insert(order_.end(), connection));
  connection->open(std::move(socket));
}

// A peer that holds idle connections must not keep others out, especially health probes.
bool ServerCore::make_room() {
  if (connections_.size() < options_.connections_max) return true;
  const auto idle = std::find_if(order_.begin(), order_.end(),
                                 [](const auto& connection) { return connection->waits(); });
  if (idle == order_.end()) return false;
  const std::shared_ptr<ServerConnection> oldest = *idle;
  oldest->lose();
  return acceptor_.is_open();
}

void ServerCore::handle(ServerRequest request, std::shared_ptr<Responder> responder) {
  const auto handler = handler_;  // the call may destroy the server
  (*handler)(std::move(request), std::move(responder));
}

void ServerCore::connection_ended(ServerConnection& connection) {
  const auto found = connections_.find(&connection);
  if (found != connections_.end()) {
    const auto held = *found->second;
    order_.erase(found->second);
    connections_.erase(found);
  }
  maybe_done();
}

void ServerCore::connection_rests(ServerConnection& connection) {
  const auto found = connections_.find(&connection);
  if (found != connections_.end()) order_.splice(order_.end(), order_, found->second);
}

void ServerCore::maybe_done() {
  if (done_.empty() || !connections_.empty()) return;
  grace_.cancel();
  for (std::function<void()>& done : std::exchange(done_, {})) {
    loop_.post([weak = weak_from_this(), done = std::move(done)] {
      if (!weak.expired() && done) done();
    });
  }
}

void ServerCore::retire() {
  const Order all = order_;
  for (const auto& connection : all) connection->stop();
}

void ServerCore::shutdown(Duration grace, std::function<void()> done) {
  stop_listening();
  pause_.cancel();
  done_.push_back(std::move(done));
  retire();
  grace_.start(grace, [this] {
    const auto self = shared_from_this();
    const Order rest = order_;
    for (const auto& connection : rest) connection->lose();
    maybe_done();
  });
  maybe_done();
}

void ServerCore::close() {
  stop_listening();
  connections_.clear();
  for (const auto& connection : std::exchange(order_, {})) connection->close();
}

namespace {

class Server final : public HttpServer {
 public:
  explicit Server(std::shared_ptr<ServerCore> core) : core_(std::move(core)) {}
  ~Server() override { core_->close(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const override { return core_->port(); }
  void accept() override { core_->accept(); }
  void set_tls(std::shared_ptr<TlsContext> tls) override { core_->set_tls(std::move(tls)); }
  void retire() override { core_->retire(); }
  void shutdown(Duration grace, std::function<void()> done) override {
    core_->shutdown(grace, std::move(done));
  }
  [[nodiscard]] const HttpServerOptions& options() const override { return core_->options(); }
  [[nodiscard]] std::size_t connections() const override { return core_->connections(); }
  [[nodiscard]] std::size_t buffered_bytes() const override { return core_->buffered_bytes(); }

 private:
  [[nodiscard]] int listener() const override { return core_->listener(); }

  std::shared_ptr<ServerCore> core_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(EventLoop& loop, HttpServerOptions options,
                                                       Handler handler) {
  options.connections_max = std::min(options.connections_max, file_limit() / 2);
  const bool accepts = options.accepts;
  auto core = std::make_shared<ServerCore>(loop, std::move(options), std::move(handler));
  STOWAGE_TRY_VOID(core->listen());
  if (accepts) core->accept();
  return std::unique_ptr<HttpServer>(std::make_unique<Server>(std::move(core)));
}

}  // namespace stowage::net
