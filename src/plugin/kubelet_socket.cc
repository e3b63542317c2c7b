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

void KubeletSocket::start() {
  poll();
  if (last_.inode == 0) handler_(RegistrationState::Socket::gone);
}

KubeletSocket::FileId KubeletSocket::identify() const {
  struct stat found {};
  if (::lstat(path().c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return {};
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .changed_nanos = found.st_ctim.tv_sec * 1'000'000'000 + found.st_ctim.tv_nsec};
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
    if (!change.name.empty() && change.name != kKubeletSocket) return;
    look(change.kind == Kind::appeared ? Seen::appeared : Seen::polled);
  });
  if (made) watch_ = *std::move(made);
}

// A new socket may have the inode of the old one. It is told once, whichever event shows it first:
// registering twice would cut the first registration.
void KubeletSocket::look(Seen seen) {
  const FileId now = identify();
  const FileId before = std::exchange(last_, now);
  if (now.inode == 0) {
    if (before.inode != 0) handler_(RegistrationState::Socket::gone);
    return;
  }
  const bool other = now.device != before.device || now.inode != before.inode;
  if (other || (seen == Seen::appeared && now.changed_nanos != before.changed_nanos)) {
    handler_(RegistrationState::Socket::created);
  }
}

}  // namespace stowage::plugin
