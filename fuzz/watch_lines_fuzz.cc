// WatchLines: the same lines result from every split, none longer than the limit. The first byte of
// the input is the size of the pieces.
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "kube/watch_lines.h"

namespace stowage::fuzz {
namespace {

constexpr std::size_t kLimit = 64;

std::vector<std::string> lines_of(std::string_view input, std::size_t piece) {
  kube::WatchLines lines(kLimit);
  std::vector<std::string> found;
  while (!input.empty()) {
    const std::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    lines.feed(part);
    std::string_view line;
    for (auto next = lines.next(line); next != kube::WatchLines::Next::need_more;
         next = lines.next(line)) {
      const bool too_long = next == kube::WatchLines::Next::too_long;
      if (!too_long) STOWAGE_CHECK(line.size() <= kLimit);
      found.push_back(too_long ? "too long" : std::string(line));
    }
  }
  return found;
}

}  // namespace

void one(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % kLimit;
  input.remove_prefix(1);
  STOWAGE_CHECK(lines_of(input, piece) == lines_of(input, input.size() + 1));
}

}  // namespace stowage::fuzz
