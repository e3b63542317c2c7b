// Asks the kubelet which pods hold which devices: podresources, List. Lives on the loop's thread.
//
// Speaks v1, and v1alpha1 to a kubelet that does not know it; after a lost connection v1 is tried
// again, as the kubelet may have become a newer one. While the kubelet says that it is asked too
// often (100 a second, by all clients together), a list waits and is asked for again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/pod_devices.h"
#include "base/result.h"
#include "grpc/client.h"
#include "net/event_loop.h"

namespace stowage::agent {

struct PodResourcesOptions {
  net::Duration deadline = std::chrono::seconds{10};  // of a list, with all that it waits for
  std::size_t response_bytes_max = std::size_t{16} << 20U;
  net::Duration backoff_min = std::chrono::milliseconds{100};  // when asked too often
  net::Duration backoff_max = std::chrono::seconds{2};
  std::uint64_t seed = 1;  // of the jitter
};

struct PodResourcesCounters {
  std::uint64_t lists = 0;
  std::uint64_t failed = 0;
  std::uint64_t throttled = 0;  // times that the kubelet said so
  std::uint64_t fell_back = 0;  // times that it did not know v1
};

class PodResources {
 public:
  using Reply = std::function<void(Result<std::vector<PodDevices>>)>;

  // The caller is a client of the kubelet's socket and outlives this.
  PodResources(net::EventLoop& loop, grpc::Caller& caller, const PodResourcesOptions& options);
  ~PodResources();  // lists under way end without a callback
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // Ends in exactly one callback, never from inside. Errors say what to look at.
  void list(Reply reply);

  [[nodiscard]] const char* version() const;  // "v1" or "v1alpha1": what the next list asks for
  [[nodiscard]] const PodResourcesCounters& counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::agent
