// Runs a splitter of watch data (WatchLines, WatchFrames) on bytes that arrive in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowage::kube::testing {

// The parts in order, with "<too long>" in place of those that were skipped. `good` is what
// Cutter::next() returns for a part.
template <typename Cutter>
std::vector<std::string> parts_of(Cutter cutter, const std::vector<std::string>& pieces,
                                  typename Cutter::Next good) {
  std::vector<std::string> found;
  for (const std::string& piece : pieces) {
    cutter.feed(piece);
    std::string_view part;
    for (;;) {
      const auto next = cutter.next(part);
      if (next == Cutter::Next::need_more) break;
      found.emplace_back(next == good ? part : "<too long>");
    }
  }
  return found;
}

}  // namespace stowage::kube::testing
