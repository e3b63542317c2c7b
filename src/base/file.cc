#include "base/file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace stowage::base {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  constexpr std::size_t kGiB = std::size_t{1} << 30U;
  if (bytes % kGiB == 0) return fmt::format("{} GiB", bytes / kGiB);
  if (bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  return fmt::format("{} bytes", bytes);
}

auto fail_with(const char* what, const std::string& path, int code) {
  return fail(fmt::format("cannot {} {}: {}", what, path, std::strerror(code)));
}

}  // namespace

FileText try_read_stream(std::FILE* in, std::size_t bytes_max) {
  std::string text;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): filled by fread
  std::array<char, kChunk> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), in)) {
    text.append(chunk.data(), got);
    if (text.size() > bytes_max) {
      return tl::unexpected(FileError{.kind = FileError::Kind::too_large});
    }
  }
  if (std::ferror(in) == 0) return text;
  return tl::unexpected(FileError{.kind = FileError::Kind::read, .code = errno});
}

FileText try_read_file(const std::string& path, std::size_t bytes_max) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) return tl::unexpected(FileError{.kind = FileError::Kind::open, .code = errno});
  return try_read_stream(file.get(), bytes_max);
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  auto text = try_read_file(path, bytes_max);
  if (text) return std::move(*text);
  if (text.error().kind != FileError::Kind::too_large) {
    return fail_with("read", path, text.error().code);
  }
  return fail(fmt::format("{} is larger than {}", path, size_text(bytes_max)));
}

Status write_file(const std::string& path, const std::string& text) {
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file) return fail_with("write", path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  if (!written) return fail_with("write", path, errno);
  if (std::fclose(file.release()) != 0) return fail_with("write", path, errno);
  return {};
}

}  // namespace stowage::base
