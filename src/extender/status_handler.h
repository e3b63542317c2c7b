// Answers status: what every card has left, and the last refusal of each of the latest pods.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include "extender/call_context.h"
#include "extender/external_pod_cache.h"

namespace stowage::extender {

class StatusHandler {
 public:
  StatusHandler(CallContext& context, const ExternalPodCache& external_pods)
      : context_(context), external_pods_(external_pods) {}

  void handle(Call request);

 private:
  struct StatusCall;
  void answer(const StatusCall& call);

  CallContext& context_;
  const ExternalPodCache& external_pods_;
};

}  // namespace stowage::extender
