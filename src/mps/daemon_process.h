// The MPS control daemon of one card as a child process. Blocking system calls only where they
// return at once; not thread-safe.
#pragma once

#include <string>
#include <sys/types.h>

#include "base/result.h"
#include "mps/layout.h"

namespace stowage::mps {

class DaemonProcess {
 public:
  struct Options {
    std::string program = "nvidia-cuda-mps-control";  // looked up in PATH if it has no slash
    std::string card;                                 // id
    CardFolder folder;
  };
  explicit DaemonProcess(Options options) : options_(std::move(options)) {}
  // Ends the daemon, and with it all programs that use the card through it.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Creates the folders, removes what an earlier daemon left there, and starts it.
  // Requires: !alive().
  [[nodiscard]] Status start();
  // False after it has ended; `end()` then says how.
  [[nodiscard]] bool alive();
  // A server of a daemon that has ended still serves the programs that were connected. Another
  // daemon would cut them off.
  [[nodiscard]] bool server_left() const;
  // It accepts clients.
  [[nodiscard]] bool listens() const;
  [[nodiscard]] const std::string& end() const { return end_; }
  void stop();

 private:
  Options options_;
  pid_t pid_ = 0;  // 0: none
  std::string end_;
};

}  // namespace stowage::mps
