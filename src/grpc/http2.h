// HTTP/2 on one connection, client or server side, by nghttp2: bytes in, bytes out, no socket, no
// clock. Internal to src/grpc.
//
// Callbacks of the owner run inside receive() and output(). There it may call everything except
// these two. A dropped stream may still cause callbacks; it closes soon.
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

struct nghttp2_session;  // from the library

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
    std::size_t header_bytes_max = 0;  // of one block, counted as in HTTP/2: 32 more per header
    std::uint32_t streams_max = 0;     // open at once
    std::uint32_t window_bytes = 0;    // that the peer may send in advance on a stream, and on all
  };

  class Owner {
   public:
    virtual void on_opened(StreamId stream) = 0;  // by the peer
    virtual void on_header(StreamId stream, std::string_view name, std::string_view value) = 0;
    virtual void on_headers_end(StreamId stream) = 0;
    virtual void on_headers_too_large(StreamId stream) = 0;  // the stream is reset
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

  // Consumes all bytes. After the end of the connection they are ignored.
  void receive(std::string_view bytes);
  // The next bytes for the peer, about `max` at most; empty if there are none now.
  [[nodiscard]] std::string output(std::size_t max);

  // Client: a new stream whose body comes from write() and finish(). Requires: takes_streams().
  [[nodiscard]] StreamId open(const Headers& headers);
  // Client: false after a GOAWAY of the peer, when the stream numbers are used up, and while too
  // many streams are open.
  [[nodiscard]] bool takes_streams() const;
  // Server: an answer whose body comes from write() and finish(), or one that is only headers.
  enum class Body : std::uint8_t { follows, none };
  void respond(StreamId stream, const Headers& headers, Body body);

  void write(StreamId stream, std::string bytes);
  void finish(StreamId stream, Headers trailers);            // after the written data
  [[nodiscard]] std::size_t backlog(StreamId stream) const;  // written, but not yet output
  void drop(StreamId stream, std::uint32_t error);           // resets it unless it has ended

  void ping();
  void send_goaway();  // accepts nothing new; ends when all streams have ended

  // Whether nothing is sent or received any more. Pending output comes first.
  [[nodiscard]] bool over() const;
  // Why it ended or will end: the peer's error, or its own message. Empty: no reason yet.
  [[nodiscard]] std::string why() const;
  // Number of stream frames received. It grows while the peer makes progress.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::size_t streams() const { return open_.size(); }

 private:
  struct Callbacks;  // called by the library
  struct Delete {
    void operator()(nghttp2_session* session) const;
  };
  struct Outgoing {
    std::deque<std::string> pieces;
    std::size_t offset = 0;  // into the first piece
    std::size_t bytes = 0;   // of all pieces, from the offset on
    bool ended = false;
    bool deferred = false;  // the library waits for a resume
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
  std::string failure_;      // our error
  std::string goaway_sent_;  // the peer's message
  std::string detail_;       // the library's last error
};

}  // namespace stowage::grpc
