// Answers bind: reserves the pod's cards on the node that kube-scheduler has chosen, writes them on
// the pod, binds it, and answers when the API server has.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <memory>
#include <string>

#include "codec/extender.h"
#include "core/engine/external_requests.h"
#include "dialect/dialect.h"
#include "extender/call_context.h"
#include "extender/external_pod_cache.h"

namespace stowage::extender {

class BindHandler {
 public:
  BindHandler(CallContext& context, ExternalPodCache& external_pods)
      : context_(context), external_pods_(external_pods) {}

  void handle(Call request);

 private:
  struct BindCall : Call {
    explicit BindCall(Call call) : Call(std::move(call)) {}
    codec::BindingArgs binding;
    core::ReserveAnswer reserve;
  };
  using BindCallPtr = std::shared_ptr<BindCall>;

  void read_pod(const BindCallPtr& call);
  // Requires: call->object is the pod.
  void reserve(const BindCallPtr& call);
  void reserved(const BindCallPtr& call);
  void bind(const BindCallPtr& call, const core::NodeSpec& node, const core::Assignment& cards);
  [[nodiscard]] std::string obstacle(const BindCall& call) const;
  [[nodiscard]] dialect::Answer annotations_for(const BindCall& call, const core::NodeSpec& node,
                                                const core::Assignment& cards);
  // Sends the answer; an empty error is success.
  void answer(const BindCall& call, const std::string& error);

  CallContext& context_;
  ExternalPodCache& external_pods_;
};

}  // namespace stowage::extender
