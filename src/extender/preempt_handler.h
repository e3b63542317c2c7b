// Answers preempt: which pods would have to go from each node for the pod to fit on its cards,
// starting with the victims that kube-scheduler proposes. Evicts nothing.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "codec/extender.h"
#include "core/engine/external_requests.h"
#include "extender/call_context.h"

namespace stowage::extender {

class PreemptHandler {
 public:
  explicit PreemptHandler(CallContext& context) : context_(context) {}

  void handle(Call request);

 private:
  struct PreemptCall : Call {
    explicit PreemptCall(Call call) : Call(std::move(call)) {}
    codec::PreemptionArgs args;
    core::PreemptRequest ask;
    core::PreemptAnswer answer;
  };

  [[nodiscard]] core::PreemptRequest::OnNode candidates(const PreemptCall& call,
                                                        const std::string& node,
                                                        const codec::Victims& victims) const;
  void answer(PreemptCall& call);

  CallContext& context_;
};

}  // namespace stowage::extender
