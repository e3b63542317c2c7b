// Gives back memory that only the start of the program needed.
//
// Most pages of a program and its libraries are touched once, while it starts, and stay resident
// for as long as it runs. On a machine whose memory is for others that is a waste: such pages are
// dropped, and the few that are still needed come back from the page cache when they are touched.
#pragma once

#include <cstddef>
#include <string_view>

namespace stowage::agent {

// Pages of files that are mapped without being writable. Returns how many bytes of mappings the
// kernel was asked to drop; 0 where it does not know how, or may not.
std::size_t drop_file_pages();

// One of them, from a line of /proc/<pid>/maps; false if the line is about something else.
struct Mapping {
  std::size_t begin = 0;
  std::size_t end = 0;
};
[[nodiscard]] bool read_mapping(std::string_view line, Mapping& mapping);

}  // namespace stowage::agent
