// Answers prioritize: a score for each of the nodes. What the engine holds for the pod follows the
// scores; in the modes singleNode and count the pod is written again if that is another node.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <memory>
#include <string>

#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "extender/nodes_call.h"
#include "extender/pre_allocation_writer.h"

namespace stowage::extender {

class PrioritizeHandler {
 public:
  struct Parts {  // of the extender, all outlive the handler
    ExternalPodCache& external_pods;
    PreAllocationWriter& writer;
  };
  PrioritizeHandler(CallContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  void handle(Call request);

 private:
  struct PrioritizeCall : NodesCall {
    using NodesCall::NodesCall;
    core::Scores scores;  // in the order of ask.nodes
  };
  using PrioritizeCallPtr = std::shared_ptr<PrioritizeCall>;

  void scored(const PrioritizeCallPtr& call);
  // Each of these sends the answer.
  void score_cpu_nodes(const PrioritizeCall& call);
  void answer(const PrioritizeCall& call);
  void send_failure(const PrioritizeCall& call, const std::string& error);

  CallContext& context_;
  Parts parts_;
};

}  // namespace stowage::extender
