// Byte streams over Unix sockets, for protocols outside this folder: connected here, or accepted by
// a listener. They never throw and never block.
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
  std::size_t read_max = std::size_t{64} << 10U;  // passed on in one turn of the loop
  Duration open_timeout = std::chrono::seconds{5};
  Duration write_timeout = std::chrono::seconds{30};  // without progress; 0: none
};

class ByteStream {
 public:
  // Called on the loop's thread, never from inside a function of the stream. The stream may be
  // destroyed in each of them.
  struct Handler {
    std::function<void()> open;
    std::function<void(std::string_view)> bytes;  // in order, split anywhere
    std::function<void()> drained;                // everything written has been sent
    std::function<void(const std::string&)> end;  // no more input or output: the reason
  };

  // Begins with start(). A path that is invalid for a socket ends the stream.
  [[nodiscard]] static std::unique_ptr<ByteStream> connect(EventLoop& loop, const std::string& path,
                                                           const ByteStreamOptions& options);

  virtual ~ByteStream() = default;          // closes it; no callback comes later
  virtual void start(Handler handler) = 0;  // call once; nothing happens before
  // Allowed from start() on. The bytes are sent after the running callback.
  virtual void write(std::string bytes) = 0;
  // Bytes that the system has not taken yet. The writer decides how much is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Ends the stream after everything has been sent, and waits at most `linger` for the peer to end
  // too. No callback comes after this call, and the stream may be destroyed at once.
  virtual void finish(Duration linger) = 0;
};

struct UnixListenOptions {
  std::string path;      // an existing socket is replaced
  unsigned mode = 0600;  // of the socket, set before clients can connect
  ByteStreamOptions streams;
};

class UnixListener {
 public:
  using Accepted = std::function<void(std::unique_ptr<ByteStream>)>;
  // Listens at once. The error names the path and the reason.
  [[nodiscard]] static Result<std::unique_ptr<UnixListener>> listen(EventLoop& loop,
                                                                    UnixListenOptions options,
                                                                    Accepted accepted);
  // Stops listening, and removes the socket unless another process has replaced it. Accepted
  // streams continue.
  virtual ~UnixListener() = default;
};

}  // namespace stowage::net
