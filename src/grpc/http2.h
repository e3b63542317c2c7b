// HTTP/2 on one connection, as either side, by nghttp2: bytes in, bytes out, no socket, no clock.
// For src/grpc alone.
//
// The owner hears of streams from inside of receive() and output(). There it may call everything
// but these two. A stream that it has dropped may still be heard of; it closes soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_session;  // of the library

namespace stowage::grpc {

using StreamId = std::int32_t;

struct Header {
  std::string name;
  std::string value;
};
using Headers = std::vector<Header>;

class Http2 {
 public:
  enum class Side : std::uint8_t { client, server };

  struct Limits {
    std::size_t header_bytes_max = 0;  // of one block, counted as HTTP/2 does: 32 more per header
    std::uint32_t streams_max = 0;     // open at once
    std::uint32_t window_bytes = 0;    // that the peer may send ahead on a stream, and on all
  };

  class Owner {
   public:
    virtual void on_opened(StreamId stream) = 0;  // by the peer
    virtual void on_header(StreamId stream, std::string_view name, std::string_view value) = 0;
    virtual void on_headers_end(StreamId stream) = 0;
    virtual void on_headers_too_large(StreamId stream) = 0;  // it is reset
    virtual void on_data(StreamId stream, std::string_view bytes) = 0;
    virtual void on_input_end(StreamId stream) = 0;  // the peer sends nothing more on it
    virtual void on_closed(StreamId stream, std::uint32_t error) = 0;

   protected:
    Owner() = default;
    ~Owner() = default;
    Owner(const Owner&) = default;
    Owner& operator=(const Owner&) = default;
  };

  // The owner outlives it.
  Http2(Side side, const Limits& limits, Owner& owner);
  ~Http2();
  Http2(const Http2&) = delete;
  Http2& operator=(const Http2&) = delete;

  // All bytes are taken. After the end of the connection they mean nothing.
  void receive(std::string_view bytes);
  // The next bytes for the peer, about `max` at most; empty if there are none now.
  [[nodiscard]] std::string output(std::size_t max);

  // Client: a new stream with a body that write() and finish() bring. Requires: takes_streams().
  [[nodiscard]] StreamId open(const Headers& headers);
  // Client: false after a farewell of the peer, when the numbers of streams are used up, and while
  // too many are open.
  [[nodiscard]] bool takes_streams() const;
  // Server: an answer whose body write() and finish() bring, or one that is headers alone.
  enum class Body : std::uint8_t { follows, none };
  void respond(StreamId stream, const Headers& headers, Body body);

  void write(StreamId stream, std::string bytes);
  void finish(StreamId stream, Headers trailers);            // after what was written
  [[nodiscard]] std::size_t backlog(StreamId stream) const;  // written, and not yet put out
  void drop(StreamId stream, std::uint32_t error);           // resets it unless it has ended

  void ping();
  void say_farewell();  // nothing new is taken; ends when all streams have ended

  // True when nothing comes or goes any more. What output() has still to give comes first.
  [[nodiscard]] bool over() const;
  // Why it ended or will end: what the peer did wrong, or its own last words. Empty: no reason yet.
  [[nodiscard]] std::string why() const;
  // Frames of streams that have come. It grows when the peer works for us.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::size_t streams() const { return open_.size(); }

 private:
  struct Callbacks;  // that the library calls
  struct Delete {
    void operator()(nghttp2_session* session) const;
  };
  struct Outgoing {
    std::deque<std::string> pieces;
    std::size_t offset = 0;  // into the first piece
    std::size_t bytes = 0;   // of all pieces, from there on
    bool ended = false;
    bool deferred = false;  // the library waits to be told that there is more
    Headers trailers;
  };

  void start(const Limits& limits);
  void resume(StreamId stream, Outgoing& outgoing);
  [[nodiscard]] std::size_t copy_out(Outgoing& outgoing, char* room, std::size_t size);
  void reset_dropped();
  void fail(std::string why);

  Side side_;
  std::size_t header_bytes_max_;
  std::size_t streams_max_;
  Owner& owner_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::set<StreamId> open_;
  std::map<StreamId, Outgoing> outgoing_;
  std::vector<std::pair<StreamId, std::uint32_t>> dropped_;
  std::size_t block_bytes_ = 0;  // of the headers that are being read
  std::uint64_t progress_ = 0;
  bool failed_ = false;
  std::string failure_;   // ours
  std::string farewell_;  // the peer's
  std::string detail_;    // the library's last complaint
};

}  // namespace stowage::grpc
