// One connection of the server: reads a request, waits for its answer, sends it, and so on. For
// src/net alone.
//
//   opening -> idle -> reading -> answering -> flushing -> idle ...  -> finishing
//                                    '- after upgrade(): whatever comes is data
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include "net/body_budget.h"
#include "net/channel.h"
#include "net/http_server.h"
#include "net/message_parser.h"

namespace stowage::net {

class ServerAnswer;

// Large because all phases of a request share the channel, the parser, the timer and the flags of
// the request in progress.
class ServerConnection final : public Channel::Owner,
                               public std::enable_shared_from_this<ServerConnection> {
 public:
  class Host {
   public:
    // The first two may destroy the host.
    virtual void handle(ServerRequest request, std::shared_ptr<Responder> responder) = 0;
    virtual void connection_ended(ServerConnection& connection) = 0;
    // It waits for a request, the first or a later one.
    virtual void connection_rests(ServerConnection& connection) = 0;

   protected:
    Host() = default;
    ~Host() = default;
    Host(const Host&) = default;
    Host& operator=(const Host&) = default;
  };

  ServerConnection(EventLoop& loop, Host& host, const HttpServerOptions& options,
                   std::shared_ptr<BodyBudget> budget, std::string peer);

  void open(boost::asio::ip::tcp::socket socket);
  void stop();   // ends after the request in progress, or at once
  void close();  // at once, without callbacks to host and answer
  void abort();  // at once, without a callback to the answer
  void lose();   // at once, as if the peer had gone; makes callbacks

  // True unless a complete request is in progress.
  [[nodiscard]] bool waits() const {
    return phase_ != Phase::answering && phase_ != Phase::flushing;
  }

  // For the answer of the request in progress.
  void send(HttpResponse response);
  void begin(const HttpResponse& head);
  void upgrade(std::string protocol, std::function<void(std::string_view)> data);
  void write(std::shared_ptr<const std::string> chunk);
  void end();
  void forget_answer() { answer_ = nullptr; }
  [[nodiscard]] std::size_t backlog() const { return channel_->payload_left(); }

 private:
  enum class Phase { opening, idle, reading, answering, flushing, finishing };

  void on_open() override;
  void on_input() override;
  void on_drained() override;
  void on_end(const ChannelEnd& end) override;

  void become_idle();
  void parse();
  void hand_on();
  void read_on();
  void dispatch();
  void refuse(int status, std::string why, Headers headers = {});
  void answer_queued();
  void answer_sent();
  void finish();

  EventLoop& loop_;
  Host* host_;
  const HttpServerOptions& options_;  // of the host: not after close()
  std::shared_ptr<BodyBudget> budget_;
  BodyCharge charge_;  // of the request that is being read; passed to its answer
  std::string peer_;
  PeerIdentity identity_;
  RequestParser parser_;
  Timer timer_;
  std::shared_ptr<Channel> channel_;
  ServerAnswer* answer_ = nullptr;  // of the request in progress, if not yet dropped
  // Set after upgrade(): receives the input. Shared, because a call may end the connection.
  std::shared_ptr<const std::function<void(std::string_view)>> data_;
  Phase phase_ = Phase::opening;
  bool parsing_ = false;
  bool continued_ = false;  // a 100 was sent
  bool keep_alive_ = true;
  bool http_1_0_ = false;
  bool head_only_ = false;
  bool chunked_ = false;
  bool stopping_ = false;
};

}  // namespace stowage::net
