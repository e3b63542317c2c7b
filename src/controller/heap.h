// The allocator of this process: what it holds, and that what it does not need goes back to the
// system. Only in builds with gperftools; in others nothing is known and nothing done.
#pragma once

#include <cstdint>
#include <optional>

#include "net/event_loop.h"

namespace stowage::controller {

struct HeapPicture {  // in bytes
  std::uint64_t used = 0;
  std::uint64_t cached = 0;    // by threads and lists of small pieces, for the next allocation
  std::uint64_t free = 0;      // whole pages
  std::uint64_t released = 0;  // whole pages that the system may have given to others
};
[[nodiscard]] std::optional<HeapPicture> heap_picture();

// After a burst (a list of everything, thousands of pods at once) the allocator would keep the
// pages for long. A little of it is given back every second: what the system takes at a time is
// small, so that nobody waits.
class HeapKeeper {
 public:
  explicit HeapKeeper(net::EventLoop& loop);

 private:
  void give_back();

  net::Timer timer_;
};

}  // namespace stowage::controller
