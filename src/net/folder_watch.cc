#include "net/folder_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

#include "net/io.h"

namespace stowage::net {
namespace {

using ErrorCode = boost::system::error_code;

constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::optional<FolderChange> change_of(const inotify_event& event, const char* name) {
  using Kind = FolderChange::Kind;
  const std::string file = event.len > 0 ? name : "";  // ends at the first zero
  if ((event.mask & IN_Q_OVERFLOW) != 0) return FolderChange{Kind::missed, ""};
  if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
    return FolderChange{Kind::ended, ""};
  }
  if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) return FolderChange{Kind::appeared, file};
  if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return FolderChange{Kind::left, file};
  return std::nullopt;
}

class Core final : public std::enable_shared_from_this<Core> {
 public:
  Core(EventLoop& loop, FolderWatch::Handler handler)
      : descriptor_(loop.io().context), handler_(std::move(handler)) {}

  [[nodiscard]] Status open(const std::string& path) {
    const auto refuse = [&] {
      return fail(fmt::format("cannot watch the folder {}: {}", path, std::strerror(errno)));
    };
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return refuse();
    descriptor_.assign(fd);
    if (::inotify_add_watch(fd, path.c_str(), kEvents) < 0) return refuse();
    return {};
  }

  void read() {
    descriptor_.async_read_some(
        boost::asio::buffer(buffer_),
        [weak = weak_from_this()](const ErrorCode& error, std::size_t count) {
          const auto self = weak.lock();
          if (!self || !self->handler_) return;
          if (error) return self->tell({FolderChange::Kind::ended, ""});
          self->take(count);
          if (self->handler_) self->read();
        });
  }

  void close() {
    handler_ = {};
    ErrorCode ignored;
    descriptor_.close(ignored);
  }

 private:
  void take(std::size_t count) {
    for (std::size_t at = 0; handler_ && at + sizeof(inotify_event) <= count;) {
      inotify_event event{};
      std::memcpy(&event, buffer_.data() + at, sizeof(event));
      const char* name = buffer_.data() + at + sizeof(event);
      at += sizeof(event) + event.len;
      if (at > count) break;
      if (const auto change = change_of(event, name)) tell(*change);
    }
  }

  void tell(const FolderChange& change) {
    const FolderWatch::Handler handler = handler_;  // the call may end the watch
    if (change.kind == FolderChange::Kind::ended) close();
    if (handler) handler(change);
  }

  boost::asio::posix::stream_descriptor descriptor_;
  FolderWatch::Handler handler_;  // empty: closed
  std::array<char, 16384> buffer_{};
};

class Watch final : public FolderWatch {
 public:
  explicit Watch(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~Watch() override { core_->close(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

Result<std::unique_ptr<FolderWatch>> FolderWatch::watch(EventLoop& loop, const std::string& path,
                                                        Handler handler) {
  auto core = std::make_shared<Core>(loop, std::move(handler));
  STOWAGE_TRY_VOID(core->open(path));
  core->read();
  return std::unique_ptr<FolderWatch>(std::make_unique<Watch>(std::move(core)));
}

}  // namespace stowage::net
