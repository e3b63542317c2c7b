#include "agent/resident_memory.h"

#include <charconv>
#include <fstream>
#include <string>
#include <sys/mman.h>

namespace stowage::agent {
namespace {

bool read_hex(std::string_view text, std::size_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

// "7f10a000-7f10b000 r-xp 00000000 fe:00 1234   /usr/lib/libc.so.6"
bool read_mapping(std::string_view line, Mapping& mapping) {
  const std::size_t dash = line.find('-');
  const std::size_t space = line.find(' ');
  if (dash == std::string_view::npos || space == std::string_view::npos || dash > space) {
    return false;
  }
  const std::string_view rights = line.substr(space + 1, 4);
  const bool kept = rights.size() == 4 && rights[0] == 'r' && rights[1] == '-';
  if (!kept || line.find(" /") == std::string_view::npos) return false;
  return read_hex(line.substr(0, dash), mapping.begin) &&
         read_hex(line.substr(dash + 1, space - dash - 1), mapping.end) &&
         mapping.end > mapping.begin;
}

std::size_t drop_file_pages() {
  std::size_t bytes = 0;
#if defined(MADV_PAGEOUT)
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    if (!read_mapping(line, mapping)) continue;
    const std::size_t length = mapping.end - mapping.begin;
    // The kernel reported this address.
    void* const at = reinterpret_cast<void*>(mapping.begin);  // NOLINT(performance-no-int-to-ptr)
    if (madvise(at, length, MADV_PAGEOUT) == 0) bytes += length;
  }
#endif
  return bytes;
}

}  // namespace stowage::agent
