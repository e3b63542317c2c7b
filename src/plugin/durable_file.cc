#include "plugin/durable_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace stowage::plugin {
namespace {

constexpr mode_t kMode = 0644;  // a runtime without all rights of root may read specs

auto cannot(std::string_view what, const std::string& path, int error) {
  return fail(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

// Closes at the end; writes report errors, closing does not.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

// 0, or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

Status write_new(const std::string& path, std::string_view text) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kMode));
  if (file.fd < 0) return cannot("create", path, errno);
  if (const int error = write_all(file.fd, text); error != 0) return cannot("write", path, error);
  if (::fsync(file.fd) != 0) return cannot("write", path, errno);
  return {};
}

// So that a rename survives a crash, too.
Status flush_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd < 0) return cannot("open", path, errno);
  if (::fsync(folder.fd) != 0 && errno != EINVAL) return cannot("flush", path, errno);
  return {};
}

}  // namespace

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(fmt::format("cannot create the folder {}: {}", path, error.message()));
  return {};
}

Status write_durably(const DurableFile& file, std::string_view text) {
  const std::string stem = file.name.substr(0, file.name.rfind('.'));
  const std::string temporary = fmt::format("{}/.{}.new", file.folder, stem);
  const std::string path = file.folder + "/" + file.name;
  Status written = write_new(temporary, text);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = cannot("replace", path, errno);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return flush_folder(file.folder);
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept { *this = std::move(other); }

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(cut_off_, other.cut_off_);
  std::swap(path_, other.path_);
  return *this;
}

Result<AppendFile> AppendFile::open(const std::string& path) {
  AppendFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  struct stat found {};
  if (file.fd_ < 0 || ::fstat(file.fd_, &found) != 0) return cannot("open", path, errno);
  file.size_ = static_cast<std::size_t>(found.st_size);
  if (file.size_ == 0) return file;
  char last = 0;
  if (::pread(file.fd_, &last, 1, found.st_size - 1) != 1) return cannot("read", path, errno);
  file.cut_off_ = last != '\n';
  return file;
}

Status AppendFile::append(std::string_view lines) {
  if (fd_ < 0) return fail("the file is not open");
  const std::string text = (cut_off_ ? "\n" : "") + std::string(lines);
  int error = write_all(fd_, text);
  if (error == 0 && ::fdatasync(fd_) != 0) error = errno;
  if (error == 0) {
    cut_off_ = false;
    size_ += text.size();
    return {};
  }
  if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) cut_off_ = true;
  return cannot("write", path_, error);
}

}  // namespace stowage::plugin
