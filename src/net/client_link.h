// One connection of a client's pool: carries one call at a time. For src/net only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/channel.h"
#include "net/http_client.h"
#include "net/message_parser.h"

namespace stowage::net {

// A call from send() to its reply. Keeps the request, which may have to be sent again.
struct ClientCall {
  std::shared_ptr<const std::string> head;
  std::shared_ptr<const std::string> body;
  ResponseParser::Mode mode = ResponseParser::Mode::whole;
  bool idempotent = false;
  HttpClient::Reply reply;

  std::uint64_t number = 0;  // in the order of send()
  Moment deadline;
  Duration allowed{};
  bool sent = false;     // a byte of it was sent, on any connection
  bool retried = false;  // after a kept connection turned out to be closed
  class ClientLink* link = nullptr;

  [[nodiscard]] std::string title() const;  // "GET /path", for messages
};

class ClientLink final : public Channel::Owner, public std::enable_shared_from_this<ClientLink> {
 public:
  struct Failure {
    std::string message;
    bool was_open = false;
    bool answer_begun = false;  // a byte of the response has arrived
    bool timed_out = false;
  };
  class Pool {
   public:
    virtual void link_opened(ClientLink& link) = 0;
    // The call is done. If not reusable, the link must be dropped.
    virtual void link_answered(ClientLink& link, HttpResponse response, bool reusable) = 0;
    virtual void link_failed(ClientLink& link, const Failure& failure) = 0;

   protected:
    Pool() = default;
    ~Pool() = default;
    Pool(const Pool&) = default;
    Pool& operator=(const Pool&) = default;
  };

  ClientLink(EventLoop& loop, Pool& pool, const HttpClientOptions& options);

  void connect(const HttpClientOptions& options, std::shared_ptr<TlsContext> tls);
  void start(const std::shared_ptr<ClientCall>& call);
  void become_idle(Duration limit);
  void close();  // no later calls to the pool

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] bool sent() const { return channel_->sent(); }
  [[nodiscard]] std::uint64_t served() const { return served_; }

  std::shared_ptr<ClientCall> call;  // in progress, or reserved for it until the link is open
  std::uint64_t born = 0;            // number of the next call when the link was created
  std::uint64_t tls_generation = 0;

 private:
  void on_open() override;
  void on_input() override;
  void on_drained() override {}
  void on_end(const ChannelEnd& end) override;
  void fail(Failure failure);
  void answer(bool reusable);

  EventLoop& loop_;
  Pool* pool_;
  std::string peer_;
  ResponseParser parser_;
  Timer idle_timer_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t served_ = 0;
  bool open_ = false;
  bool answer_begun_ = false;
};

}  // namespace stowage::net
