// Watches for the kubelet's registration socket: it appears when a kubelet starts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/folder_watch.h"
#include "plugin/registration.h"

namespace stowage::plugin {

inline constexpr const char* kKubeletSocket = "kubelet.sock";

class KubeletSocket {
 public:
  using Handler = std::function<void(RegistrationState::Socket)>;
  // `folder` may not exist yet.
  KubeletSocket(net::EventLoop& loop, std::string folder, Handler handler);
  void start();  // the handler is called for the first time inside

  [[nodiscard]] std::string path() const { return folder_ + "/" + kKubeletSocket; }

 private:
  struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: no socket
    std::int64_t changed_nanos = 0;
  };
  enum class Seen : std::uint8_t { polled, appeared };
  void look(Seen seen);
  void poll();
  void watch();
  [[nodiscard]] FileId identify() const;

  net::EventLoop& loop_;
  std::string folder_;
  Handler handler_;
  FileId last_;
  std::unique_ptr<net::FolderWatch> watch_;
  net::Timer timer_;
};

}  // namespace stowage::plugin
