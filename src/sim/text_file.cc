#include "sim/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace stowage::sim {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 30U;
constexpr std::size_t kChunk = std::size_t{1} << 16U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

auto fail_with_errno(const char* what, const std::string& path) {
  return fail(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail_with_errno("read", path);
  std::string text;
  std::array<char, kChunk>
      chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by fread
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    text.append(chunk.data(), got);
    if (text.size() > kBytesMax) return fail(fmt::format("{} is larger than 1 GiB", path));
  }
  if (std::ferror(file.get()) != 0) return fail_with_errno("read", path);
  return text;
}

Status write_text_file(const std::string& path, const std::string& text) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return fail_with_errno("write", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  if (!written) return fail_with_errno("write", path);
  if (std::fclose(file.release()) != 0) return fail_with_errno("write", path);
  return {};
}

}  // namespace stowage::sim
