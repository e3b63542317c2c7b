// How long single callbacks kept a loop busy.
#pragma once

#include "net/event_loop.h"

namespace stowage::net {

// The longest turn of the last one or two minutes, in CPU time of the loop's thread: time spent
// waiting for a core does not count. Call it on the loop's thread. Zero for a scheduled loop.
[[nodiscard]] Duration longest_turn(EventLoop& loop);

// CPU time of the calling thread.
[[nodiscard]] Duration thread_time();

}  // namespace stowage::net
