#include "plugin/kubelet_socket.h"

#include <sys/stat.h>
#include <utility>

namespace stowage::plugin {
namespace {

// For a folder that does not exist yet or was replaced, and for file systems without inotify.
constexpr std::chrono::milliseconds kPollEvery{500};

}  // namespace

KubeletSocket::KubeletSocket(net::EventLoop& loop, std::string folder, Handler handler)
    : loop_(loop), folder_(std::move(folder)), handler_(std::move(handler)), timer_(loop) {}

void KubeletSocket::start() { poll(); }

KubeletSocket::FileId KubeletSocket::identify() const {
  struct stat found {};
  if (::lstat(path().c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return {};
  return {.device = found.st_dev, .inode = found.st_ino};
}

void KubeletSocket::poll() {
  timer_.start(kPollEvery, [this] { poll(); });
  if (!watch_) watch();
  look(Seen::polled);
}

void KubeletSocket::watch() {
  using Kind = net::FolderChange::Kind;
  auto made = net::FolderWatch::watch(loop_, folder_, [this](const net::FolderChange& change) {
    if (change.kind == Kind::ended) watch_.reset();
    if (change.kind == Kind::appeared && change.name == kKubeletSocket) return look(Seen::created);
    look(Seen::polled);
  });
  if (made) watch_ = *std::move(made);
}

// A new socket may have the inode of the old one.
void KubeletSocket::look(Seen seen) {
  const FileId now = identify();
  const FileId before = std::exchange(last_, now);
  if (now.inode == 0) {
    if (before.inode != 0) handler_(RegistrationState::Socket::gone);
  } else if (seen == Seen::created || !(now == before)) {
    handler_(RegistrationState::Socket::created);
  }
}

}  // namespace stowage::plugin
