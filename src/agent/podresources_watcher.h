// Reports which pods hold which devices: asks the kubelet repeatedly and reports changes. Lives on
// the loop's thread.
//
//   asking --answer--> in_touch; asks again after `every`, or soon after refresh_soon()
//     ^  '--error----> not in_touch; the known state stays; asks again after a growing pause
//     '----------------------'
//
// The protocol has no watch. A list of a hundred pods costs the kubelet little.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/podresources.h"

namespace stowage::agent {

struct WatcherOptions {
  net::Duration every = std::chrono::seconds{2};
  net::Duration refresh_asked = std::chrono::milliseconds{100};  // minimum interval between lists
  net::Duration backoff_min = std::chrono::milliseconds{500};
  net::Duration backoff_max = std::chrono::seconds{8};  // 10 s with the jitter
  std::uint64_t seed = 1;
};

// Whether the known state is current.
struct Contact {
  bool in_touch = false;
  net::Moment since{};  // since when
  std::string why;      // if not in_touch: the last error
  net::Moment heard{};  // when the last good list arrived; time zero: never
};

class PodResourcesWatcher {
 public:
  // Both may stop or destroy the watcher. pods() and contact() are up to date when they are called.
  struct Deps {
    std::function<void(const PodChanges&)> on_changes;  // the first call has all pods
    std::function<void(const Contact&)> on_contact;     // contact found or lost, or lost for
                                                        // another reason
  };

  // `resources` outlives the watcher.
  PodResourcesWatcher(net::EventLoop& loop, PodResources& resources, const WatcherOptions& options,
                      Deps deps);
  ~PodResourcesWatcher();
  PodResourcesWatcher(const PodResourcesWatcher&) = delete;
  PodResourcesWatcher& operator=(const PodResourcesWatcher&) = delete;

  void start();  // call once
  void stop();   // no callback follows
  // Asks at once; if a list is in progress, once more after it.
  void refresh_soon();

  [[nodiscard]] const std::vector<PodDevices>& pods() const;  // the last good list
  [[nodiscard]] const Contact& contact() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::agent
