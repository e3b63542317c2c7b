// How long a loop was busy with one thing, while everything else on it waited.
#pragma once

#include "net/event_loop.h"

namespace stowage::net {

// The longest turn of the last minute or two, by the processor time of the loop's thread: what it
// waited for others does not count. To be called on the loop's thread. Zero for a scheduled loop.
[[nodiscard]] Duration longest_turn(EventLoop& loop);

// Processor time that the calling thread has used.
[[nodiscard]] Duration thread_time();

}  // namespace stowage::net
