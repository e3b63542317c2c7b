// Frees memory that only the start of the program needed.
//
// Most pages of a program and its libraries are touched once, at the start, and stay resident as
// long as it runs. The memory of a node belongs to its pods, so such pages are dropped. The few
// that are still needed come back from the page cache when they are touched.
#pragma once

#include <cstddef>
#include <string_view>

namespace stowage::agent {

// Drops pages of file mappings that are not writable. Returns how many bytes of mappings the kernel
// was asked to drop; 0 if it does not support or permit that.
std::size_t drop_file_pages();

// One such mapping, from a line of /proc/<pid>/maps; false if the line is about something else.
struct Mapping {
  std::size_t begin = 0;
  std::size_t end = 0;
};
[[nodiscard]] bool read_mapping(std::string_view line, Mapping& mapping);

}  // namespace stowage::agent
