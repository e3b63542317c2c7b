#include "grpc/server.h"

#include <utility>

#include "grpc/server_link.h"
#include "net/byte_stream.h"

namespace stowage::grpc {
namespace {

class ServerCore final : public ServerLink::Host {
 public:
  ServerCore(net::EventLoop& loop, ServerOptions options, Server::Methods methods)
      : loop_(loop),
        options_(std::move(options)),
        methods_(std::make_shared<const Server::Methods>(std::move(methods))) {}

  [[nodiscard]] Status listen() {
    STOWAGE_TRY(listener,
                net::UnixListener::listen(loop_,
                                          {.path = options_.socket,
                                           .mode = options_.mode,
                                           .streams = {.write_timeout = options_.write_timeout}},
                                          [this](std::unique_ptr<net::ByteStream> stream) {
                                            accepted(std::move(stream));
                                          }));
    listener_ = std::move(listener);
    return {};
  }

  void close() {
    listener_.reset();
    for (const auto& [key, link] : std::exchange(links_, {})) link->close();
  }

  [[nodiscard]] std::size_t connections() const { return links_.size(); }

 private:
  [[nodiscard]] bool knows(const std::string& method) const override {
    return methods_->contains(method);
  }

  void handle(ServerRequest request, std::shared_ptr<Responder> responder) override {
    const auto methods = methods_;  // the handler may destroy the server
    const Server::Handler& handler = methods->at(request.method);
    handler(std::move(request), std::move(responder));
  }

  void on_link_end(ServerLink& link) override {
    const auto found = links_.find(&link);
    if (found != links_.end()) links_.erase(found);
  }

  void accepted(std::unique_ptr<net::ByteStream> stream) {
    if (!make_room()) return;
    auto link = std::make_shared<ServerLink>(loop_, options_, *this);
    links_.emplace(link.get(), link);
    link->start(std::move(stream));
  }

  // Idle connections must not keep other clients out.
  [[nodiscard]] bool make_room() {
    if (links_.size() < options_.connections_max) return true;
    auto longest = links_.end();
    for (auto each = links_.begin(); each != links_.end(); ++each) {
      const auto idle = each->second->idle_since();
      if (!idle) continue;
      if (longest == links_.end() || *idle < *longest->second->idle_since()) longest = each;
    }
    if (longest == links_.end()) return false;
    longest->second->give_way();
    links_.erase(longest);
    return true;
  }

  net::EventLoop& loop_;
  ServerOptions options_;
  std::shared_ptr<const Server::Methods> methods_;
  std::unique_ptr<net::UnixListener> listener_;
  std::map<ServerLink*, std::shared_ptr<ServerLink>> links_;
};

class UnixServer final : public Server {
 public:
  explicit UnixServer(std::shared_ptr<ServerCore> core) : core_(std::move(core)) {}
  ~UnixServer() override { core_->close(); }
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  [[nodiscard]] std::size_t connections() const override { return core_->connections(); }

 private:
  std::shared_ptr<ServerCore> core_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(net::EventLoop& loop, ServerOptions options,
                                               Methods methods) {
  auto core = std::make_shared<ServerCore>(loop, std::move(options), std::move(methods));
  STOWAGE_TRY_VOID(core->listen());
  return std::unique_ptr<Server>(std::make_unique<UnixServer>(std::move(core)));
}

}  // namespace stowage::grpc
