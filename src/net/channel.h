// A byte stream over one connection (TCP, plain or TLS, or a Unix socket), with one owner. For
// src/net only.
//
//   connecting or accepted -> handshake -> open -> (finishing ->) closed
//
// A channel never calls its owner from inside a function that the owner called, and never after
// close() or on_end(). It keeps itself alive while a system operation is in progress; an owner must
// close() it before its own destruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/event_loop.h"
#include "net/input_buffer.h"
#include "net/output_queue.h"
#include "net/tls_session.h"

namespace stowage::net {

struct ChannelEnd {
  enum class Kind {
    eof,        // the peer has ended the stream properly
    broken,     // reset, or a truncated TLS stream
    timed_out,  // of connecting, of the handshake, or of a write without progress
    refused     // no connection: not resolved, not reachable, or no handshake
  };
  Kind kind = Kind::eof;
  std::string message;  // names the peer unless kind is eof
};

struct ChannelOptions {
  std::string peer;                                // for messages: "host:port"
  std::size_t input_max = 0;                       // reading pauses while this much is not consumed
  std::size_t read_max = std::size_t{256} << 10U;  // read in one turn of the loop
  Duration open_timeout{};                         // until on_open()
  Duration write_timeout{};                        // without progress; 0: none
  std::shared_ptr<TlsContext> tls;
};

// Large because it is one state machine: connecting (channel_open.cc), reading and writing share
// the socket, its timer and the state.
class Channel final : public std::enable_shared_from_this<Channel> {
 public:
  class Owner {
   public:
    virtual void on_open() = 0;
    virtual void on_input() = 0;    // input() has grown
    virtual void on_drained() = 0;  // a flush that could not finish at once has finished
    // No more input. After eof the owner may still write, and must call close() or finish().
    virtual void on_end(const ChannelEnd& end) = 0;

   protected:
    Owner() = default;
    ~Owner() = default;
    Owner(const Owner&) = default;
    Owner& operator=(const Owner&) = default;
  };

  Channel(EventLoop& loop, Owner& owner, ChannelOptions options);

  // Call one of them, once. connect() resolves the name and tries every address; a host that begins
  // with a slash is the path of a Unix socket.
  void connect(const std::string& host, std::uint16_t port);
  void accept(boost::asio::generic::stream_protocol::socket socket);

  [[nodiscard]] std::string_view input() const { return input_.view(); }
  void consume(std::size_t count);

  // Only queues: flush() sends at once what the system takes; flush_soon() sends after the running
  // callback, together with what is queued until then.
  [[nodiscard]] OutputQueue& output() { return output_; }
  void flush();
  void flush_soon();
  [[nodiscard]] bool drained() const;
  // Bytes of queued payload that the system has not taken.
  [[nodiscard]] std::size_t payload_left() const { return output_.payload() + payload_encrypted_; }
  // True once a byte from the owner has been sent since the last clear_sent().
  [[nodiscard]] bool sent() const { return sent_; }
  void clear_sent() { sent_ = false; }

  // What is queued must arrive at the peer's machine within this time; otherwise the connection is
  // reset, by the kernel if this process is stopped. From now on nothing queued is sent after
  // close(), or after the process ends. TCP only.
  void limit_delivery(Duration limit);

  // Ends after everything queued has been sent, and waits at most `linger` for the peer to end too.
  // The only later callback is on_end(), with eof.
  void finish(Duration linger);
  void finish_alone(Duration linger);  // no later callbacks: the owner may be destroyed at once
  void close();                        // at once. No later callbacks

  void release_memory();  // of a channel that will be idle
  [[nodiscard]] PeerIdentity identity() const;

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;
  using ErrorCode = boost::system::error_code;
  enum class State { fresh, connecting, handshake, open, finishing, closed };

  void resolve(const std::string& host, std::uint16_t port);
  void connect_next();
  void connected(const ErrorCode& error);
  void refuse(const std::string& why);
  void begin_session();
  void handshake();
  void become_open();
  void start_open_timer(Duration limit);

  void read();
  void on_read(const ErrorCode& error, std::size_t count);
  void on_read_error(const ErrorCode& error);
  void take_ciphertext(std::size_t count);
  void take_plain_text();
  void deliver();
  void end_input();

  [[nodiscard]] bool encrypt();
  enum class Wrote { some, blocked, failed };
  [[nodiscard]] Wrote write_once();
  void await_writable();
  void after_flush();
  void write_failed(const std::string& why);
  void end_output();
  void end_soon(Duration delay);

  void end(ChannelEnd::Kind kind, const std::string& message);

  EventLoop& loop_;
  Owner* owner_;
  ChannelOptions options_;
  Socket socket_;
  Timer timer_;  // of the current step: connecting, handshake, blocked write, lingering
  State state_ = State::fresh;
  std::unique_ptr<TlsSession> tls_;
  std::string host_;

  std::vector<Endpoint> endpoints_;
  std::size_t endpoint_ = 0;   // the current one
  std::uint64_t attempt_ = 0;  // of connecting; replies to earlier ones are ignored
  Moment open_by_;

  InputBuffer input_;
  InputBuffer ciphertext_;  // only for TLS
  std::size_t read_size_;
  bool reading_ = false;
  bool input_ended_ = false;
  bool delivering_ = false;

  OutputQueue output_;
  std::size_t payload_encrypted_ = 0;  // payload in the TLS output that is not yet sent
  bool writing_ = false;               // waits until the system takes more
  bool flush_posted_ = false;
  bool sent_ = false;
  bool write_broken_ = false;
  bool output_ended_ = false;
  bool resets_ = false;  // at close()
  Duration linger_{};
};

}  // namespace stowage::net
