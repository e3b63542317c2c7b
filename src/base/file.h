// Whole files, read and written in one step. Blocks until it is done, so it is for small files, for
// programs that have nothing else to do, and never for pipes that others keep open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/result.h"

namespace stowage::base {

// For callers that say in their own words what went wrong.
struct FileError {
  enum class Kind : std::uint8_t { open, read, too_large };
  Kind kind = Kind::open;
  int code = 0;  // errno of open and read
};
using FileText = tl::expected<std::string, FileError>;

// The bytes from here to the end; too_large if there are more than so many.
[[nodiscard]] FileText try_read_stream(std::FILE* in, std::size_t bytes_max);
[[nodiscard]] FileText try_read_file(const std::string& path, std::size_t bytes_max);

// No configuration, token or certificate is larger.
inline constexpr std::size_t kSmallFileBytes = std::size_t{4} << 20U;
// The file's bytes, or "cannot read PATH: No such file or directory", "PATH is larger than 4 MiB".
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t bytes_max = kSmallFileBytes);

// Creates or replaces the file. A full disk is an error like any other.
[[nodiscard]] Status write_file(const std::string& path, const std::string& text);

}  // namespace stowage::base
