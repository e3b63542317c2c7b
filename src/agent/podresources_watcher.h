// Keeps somebody informed of which pods hold which devices: asks the kubelet again and again and
// reports what has changed. Lives on the loop's thread.
//
//   asking --answer--> in touch; asks again after `every`, or soon after a nudge
//     ^  '--error----> out of touch; what was known stays; asks again after a pause that grows
//     '----------------------'
//
// The protocol has nothing to watch with. A list of a hundred pods costs the kubelet little.
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
  net::Duration nudged = std::chrono::milliseconds{100};  // between lists, however often nudged
  net::Duration backoff_min = std::chrono::milliseconds{500};
  net::Duration backoff_max = std::chrono::seconds{8};  // 10 with what is added at random
  std::uint64_t seed = 1;
};

// Whether what is known is how things are now.
struct Contact {
  bool in_touch = false;
  net::Moment since{};  // so for so long
  std::string why;      // not: the last failure
  net::Moment heard{};  // when the last good list came; the beginning of time: never
};

class PodResourcesWatcher {
 public:
  // Both may stop or destroy the watcher. pods() and contact() are up to date in them.
  struct Ends {
    std::function<void(const PodChanges&)> on_changes;  // the first list: all that is there
    std::function<void(const Contact&)> on_contact;     // found or lost, or lost for another reason
  };

  // `resources` outlives the watcher.
  PodResourcesWatcher(net::EventLoop& loop, PodResources& resources, const WatcherOptions& options,
                      Ends ends);
  ~PodResourcesWatcher();
  PodResourcesWatcher(const PodResourcesWatcher&) = delete;
  PodResourcesWatcher& operator=(const PodResourcesWatcher&) = delete;

  void start();  // once
  void stop();   // no callback comes after it
  // Something has happened: asks at once, and if a list is under way, once more after it.
  void nudge();

  [[nodiscard]] const std::vector<PodDevices>& pods() const;  // the last good list
  [[nodiscard]] const Contact& contact() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::agent
