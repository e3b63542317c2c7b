// Has kube-scheduler try refused pods again once they fit.
//
// kube-scheduler forgets a refused pod until something that it watches changes in the cluster. A
// hold that expires, a quota that grows or a pod that ends just after the refusal is no such
// change. So this looks every second whether a refused pod fits by now, and if it does, sets an
// annotation on it, which is a change. Between two such writes on one pod it waits longer each
// time, since kube-scheduler may refuse the pod for reasons of its own.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "net/event_loop.h"

namespace stowage::extender {

class RefusedPodWaker {
 public:
  RefusedPodWaker(CallContext& context, ExternalPodCache& external_pods);

  // The pod was refused.
  void watch(ExternalPod& external);
  // The pod is no longer refused.
  static void unwatch(ExternalPod& external) { external.waits = false; }

  [[nodiscard]] std::uint64_t woken() const { return woken_; }  // pods that were written on

 private:
  void look();
  [[nodiscard]] std::vector<core::PodSpec> take_due();
  void wake(const std::string& uid);

  CallContext& context_;
  ExternalPodCache& external_pods_;
  net::Timer timer_;
  std::uint64_t woken_ = 0;
};

}  // namespace stowage::extender
