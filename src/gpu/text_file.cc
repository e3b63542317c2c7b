#include "gpu/text_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace stowage::gpu {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 14U;

// Closed by the destructor.
class File {
 public:
  // Non-blocking: opening a pipe without a writer would wait.
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

auto fail_with_errno(const std::string& path) {
  return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
  const File file(path);
  if (file.descriptor() < 0) return fail_with_errno(path);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) return fail_with_errno(path);
  if (!S_ISREG(status.st_mode)) return fail(fmt::format("cannot read {}: not a file", path));
  std::string text;
  std::array<char, kChunk> chunk{};
  while (true) {
    const ssize_t got = ::read(file.descriptor(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_with_errno(path);
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return fail(fmt::format("{} is larger than {} bytes", path, bytes_max));
    }
  }
}

}  // namespace stowage::gpu
