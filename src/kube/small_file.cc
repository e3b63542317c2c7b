#include "kube/small_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace stowage::kube {
namespace {

constexpr std::size_t kBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kChunk = std::size_t{1} << 14U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

auto fail_with_errno(const std::string& path) {
  return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return fail_with_errno(path);
  std::string text;
  std::array<char, kChunk> chunk{};
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    text.append(chunk.data(), got);
    if (text.size() > kBytesMax) return fail(fmt::format("{} is larger than 4 MiB", path));
  }
  if (std::ferror(file.get()) != 0) return fail_with_errno(path);
  return text;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace stowage::kube
