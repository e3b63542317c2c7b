// The allocator of this process: its statistics, and the release of unused memory to the system.
// Only in builds with gperftools; other builds know nothing and do nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "net/event_loop.h"

namespace stowage::controller {

struct HeapSnapshot {  // in bytes
  std::uint64_t used = 0;
  std::uint64_t cached = 0;    // by threads and free lists, for the next allocation
  std::uint64_t free = 0;      // whole pages
  std::uint64_t released = 0;  // whole pages that were returned to the system
};
[[nodiscard]] std::optional<HeapSnapshot> heap_snapshot();

// After a burst (a full list, thousands of pods at once) the allocator would keep the pages for
// long. A little is released every second, in small pieces, so that no thread waits.
class HeapTrimmer {
 public:
  explicit HeapTrimmer(net::EventLoop& loop);

 private:
  void give_back();

  net::Timer timer_;
};

}  // namespace stowage::controller
