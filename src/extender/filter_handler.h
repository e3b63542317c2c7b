// Answers filter and its dry run: which of the nodes a pod fits on. A filter also has the engine
// hold cards for the pod, and in the modes singleNode and count writes them on it before it
// answers; a dry run changes nothing.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <memory>
#include <string>

#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "extender/nodes_call.h"
#include "extender/pre_allocation_writer.h"
#include "extender/refused_pod_waker.h"

namespace stowage::extender {

class FilterHandler {
 public:
  struct Parts {  // of the extender, all outlive the handler
    ExternalPodCache& external_pods;
    PreAllocationWriter& writer;
    RefusedPodWaker& waker;
  };
  FilterHandler(CallContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  void handle(Call request);

 private:
  struct FilterCall : NodesCall {
    using NodesCall::NodesCall;
    core::FilterAnswer answer;
  };
  using FilterCallPtr = std::shared_ptr<FilterCall>;

  bool prefer_pre_allocated(FilterCall& call);
  void filtered(const FilterCallPtr& call);
  void refused(const FilterCall& call, ExternalPod& external);
  void report_refusal(const FilterCall& call, const std::string& text);
  // Each of these sends the answer.
  void pass(const FilterCall& call);
  void answer(const FilterCall& call);
  void send_error(const FilterCall& call, const std::string& error);

  CallContext& context_;
  Parts parts_;
};

}  // namespace stowage::extender
