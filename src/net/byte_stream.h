// Streams of bytes over Unix sockets, for protocols that are not of this folder: connected here, or
// accepted by a listener. Never throw, never block.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/event_loop.h"

namespace stowage::net {

struct ByteStreamOptions {
  std::size_t read_max = std::size_t{64} << 10U;  // handed over in one turn of the loop
  Duration open_timeout = std::chrono::seconds{5};
  Duration write_timeout = std::chrono::seconds{30};  // without progress; 0: none
};

class ByteStream {
 public:
  // Called on the loop's thread, never from inside a function of the stream. The stream may be
  // destroyed in each of them.
  struct Handler {
    std::function<void()> open;
    std::function<void(std::string_view)> bytes;  // any cut of them, in order
    std::function<void()> drained;                // what was written has gone out
    std::function<void(const std::string&)> end;  // nothing comes or goes any more: says why
  };

  // Begins with start(). A path that cannot be one of a socket ends the stream.
  [[nodiscard]] static std::unique_ptr<ByteStream> connect(EventLoop& loop, const std::string& path,
                                                           const ByteStreamOptions& options);

  virtual ~ByteStream() = default;          // closes it; no callback comes after that
  virtual void start(Handler handler) = 0;  // once; nothing happens before
  // Bytes may be written from start() on. They go out after the callback that runs now.
  virtual void write(std::string bytes) = 0;
  // Bytes that the system has not taken yet. The writer decides what is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Ends after what was written has gone out, waiting `linger` at most for the peer to end too. No
  // callback comes any more, and the stream may be destroyed at once.
  virtual void finish(Duration linger) = 0;
};

struct UnixListenOptions {
  std::string path;      // a socket that is there already is replaced
  unsigned mode = 0600;  // of the socket, before anybody can connect to it
  ByteStreamOptions streams;
};

class UnixListener {
 public:
  using Accepted = std::function<void(std::unique_ptr<ByteStream>)>;
  // Listens at once. An error says which path and why.
  [[nodiscard]] static Result<std::unique_ptr<UnixListener>> listen(EventLoop& loop,
                                                                    UnixListenOptions options,
                                                                    Accepted accepted);
  // Stops listening, and removes the socket unless somebody else has put one there. Streams that
  // were accepted go on.
  virtual ~UnixListener() = default;
};

}  // namespace stowage::net
