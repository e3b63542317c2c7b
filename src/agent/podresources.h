// Asks the kubelet which pods hold which devices: podresources, List. Lives on the loop's thread.
//
// Uses v1, or v1alpha1 with a kubelet that does not support v1. After a lost connection it tries v1
// again, because the kubelet may be a newer one. If the kubelet reports too many requests (100 per
// second for all clients together), a list waits and is repeated.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/pod_devices.h"
#include "base/result.h"
#include "grpc/client.h"
#include "net/event_loop.h"

namespace stowage::agent {

struct PodResourcesOptions {
  net::Duration deadline = std::chrono::seconds{10};  // for a list, including all its waits
  std::size_t response_bytes_max = std::size_t{16} << 20U;
  net::Duration backoff_min = std::chrono::milliseconds{100};  // after too many requests
  net::Duration backoff_max = std::chrono::seconds{2};
  std::uint64_t seed = 1;  // of the jitter
};

struct PodResourcesCounters {
  std::uint64_t lists = 0;
  std::uint64_t failed = 0;
  std::uint64_t throttled = 0;  // replies of the kubelet that there were too many requests
  std::uint64_t fell_back = 0;  // replies of the kubelet that it does not support v1
};

class PodResources {
 public:
  using Reply = std::function<void(Result<std::vector<PodDevices>>)>;

  // `caller` is a client of the kubelet's socket and must outlive this.
  PodResources(net::EventLoop& loop, grpc::Caller& caller, const PodResourcesOptions& options);
  ~PodResources();  // lists in progress end without a callback
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // Ends in exactly one callback, never before list() has returned. Errors say what to check.
  void list(Reply reply);

  [[nodiscard]] const char* version() const;  // "v1" or "v1alpha1": the version of the next list
  [[nodiscard]] const PodResourcesCounters& counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::agent
