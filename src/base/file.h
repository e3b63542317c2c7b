// Reads and writes whole files in one step. Blocks until done, so use it for small files and in
// programs without other work, and never for pipes that others keep open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/result.h"

namespace stowage::base {

// For callers with their own error messages.
struct FileError {
  enum class Kind : std::uint8_t { open, read, too_large };
  Kind kind = Kind::open;
  int code = 0;  // errno of open and read
};
using FileText = tl::expected<std::string, FileError>;

// The remaining bytes; too_large if there are more than `bytes_max`.
[[nodiscard]] FileText try_read_stream(std::FILE* in, std::size_t bytes_max);
[[nodiscard]] FileText try_read_file(const std::string& path, std::size_t bytes_max);

// The largest accepted configuration, token or certificate.
inline constexpr std::size_t kSmallFileBytes = std::size_t{4} << 20U;
// The file's bytes, or "cannot read PATH: No such file or directory", "PATH is larger than 4 MiB".
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t bytes_max = kSmallFileBytes);

// Creates or replaces the file. A full disk is reported as an error.
[[nodiscard]] Status write_file(const std::string& path, const std::string& text);

}  // namespace stowage::base
