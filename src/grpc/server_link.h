// One connection of a server: its socket, its calls and their time limits. Internal to src/grpc.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "grpc/keepalive.h"
#include "grpc/server.h"
#include "grpc/server_session.h"
#include "net/byte_stream.h"

namespace stowage::grpc {

class Answer;

class ServerLink final : public std::enable_shared_from_this<ServerLink> {
 public:
  // Called from the loop, and not after close().
  class Host {
   public:
    [[nodiscard]] virtual bool knows(const std::string& method) const = 0;
    virtual void handle(ServerRequest request, std::shared_ptr<Responder> responder) = 0;
    virtual void on_link_end(ServerLink& link) = 0;

   protected:
    Host() = default;
    ~Host() = default;
    Host(const Host&) = default;
    Host& operator=(const Host&) = default;
  };

  ServerLink(net::EventLoop& loop, const ServerOptions& options, Host& host);

  void start(std::unique_ptr<net::ByteStream> stream);
  // Unset while a call is in progress.
  [[nodiscard]] std::optional<net::Moment> idle_since() const;
  void give_way();  // closes it; the host gets no more callbacks
  void close();

  // For answers.
  void write(StreamId call, std::string message);
  void end(StreamId call, const CallStatus& status);
  [[nodiscard]] std::size_t backlog(StreamId call) const { return session_.backlog(call); }

 private:
  struct Call {
    explicit Call(net::EventLoop& loop) : timer(loop) {}

    std::string method;
    std::optional<net::Moment> due;
    net::Timer timer;
    std::weak_ptr<Answer> answer;
  };

  void work_soon();
  void work();
  void send_output();
  void hand_on(ServerEvent event);
  void begin(const ServerEvent& event);
  void pass_request(StreamId id, std::string message);
  void expire(StreamId id);
  void lose(StreamId id);
  void lost();

  net::EventLoop& loop_;
  ServerOptions options_;
  Host* host_;  // null: closed
  ServerSession session_;
  Keepalive keepalive_;
  std::unique_ptr<net::ByteStream> stream_;
  std::map<StreamId, Call> calls_;
  net::Moment idle_since_;
  bool work_posted_ = false;
};

}  // namespace stowage::grpc
