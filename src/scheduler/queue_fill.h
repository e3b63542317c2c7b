// How full the bounded queues and caches are, for metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stowage::scheduler {

enum class QueueName : std::uint8_t {
  binds,
  events,
  event_series,
  conditions,
  external_pods,
  pending_requests,
  forwarded,
  connections,
  body_bytes,
};
inline constexpr std::array<std::string_view, 9> kQueueNames{
    "binds",     "events",      "event_series", "conditions", "external_pods", "pending_requests",
    "forwarded", "connections", "body_bytes"};
static_assert(kQueueNames.size() == static_cast<std::size_t>(QueueName::body_bytes) + 1);

[[nodiscard]] constexpr std::string_view to_string(QueueName name) {
  return kQueueNames[static_cast<std::size_t>(name)];
}

struct QueueFill {
  QueueName queue = QueueName::binds;
  std::size_t size = 0;
  std::size_t limit = 0;
};

}  // namespace stowage::scheduler
