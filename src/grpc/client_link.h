// One connection of a client: its socket, its calls, and whether its server is alive. Internal to
// src/grpc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "grpc/client.h"
#include "grpc/client_session.h"
#include "grpc/keepalive.h"
#include "net/byte_stream.h"

namespace stowage::grpc {

class ClientLink final : public std::enable_shared_from_this<ClientLink> {
 public:
  using CallNumber = std::uint64_t;  // assigned by its host

  // Called from the loop, never inside a function of the link, and not after close().
  class Host {
   public:
    virtual void on_alive() = 0;  // the server has sent something
    virtual void on_call_event(ClientLink& link, CallNumber number, CallEvent event) = 0;
    virtual void on_link_end(ClientLink& link, const std::string& why) = 0;

   protected:
    Host() = default;
    ~Host() = default;
    Host(const Host&) = default;
    Host& operator=(const Host&) = default;
  };

  ClientLink(net::EventLoop& loop, const ClientOptions& options, Host& host);

  void start();
  [[nodiscard]] bool takes_calls() const { return session_.takes_calls(); }
  // Requires: takes_calls().
  void begin(CallNumber number, CallRequest ask);
  void cancel(CallNumber number);
  [[nodiscard]] std::size_t calls() const { return numbers_.size(); }
  [[nodiscard]] bool useful() const { return useful_; }  // the server has ended a call
  void close();

 private:
  void take(std::string_view bytes);
  void work_soon();
  void work();
  void hand_on(CallEvent event);
  void end(const std::string& why);
  [[nodiscard]] std::string reason(const std::string& why) const;

  net::EventLoop& loop_;
  std::string name_;  // "unix:/run/x.sock"
  Host* host_;        // null: closed
  ClientSession session_;
  Keepalive keepalive_;
  std::unique_ptr<net::ByteStream> stream_;
  std::map<StreamId, CallNumber> numbers_;
  bool alive_ = false;
  bool useful_ = false;
  bool work_posted_ = false;
};

}  // namespace stowage::grpc
