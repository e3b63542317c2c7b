// A request about a pod and some nodes (ExtenderArgs), as filter and prioritize get it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/instant.h"
#include "base/result.h"
#include "codec/extender.h"
#include "core/engine/external_requests.h"
#include "extender/call.h"
#include "extender/call_context.h"
#include "extender/options.h"

namespace stowage::extender {

struct NodesCall : Call {
  explicit NodesCall(Call call) : Call(std::move(call)) {}

  codec::ExtenderArgs args;
  core::FilterRequest ask;
  std::optional<core::CardPlacement> held;  // what the engine holds for the pod after this call
  bool still_held = false;                  // whether it did once the pre-allocation was written
  std::int64_t decided = 0;                 // when it was chosen, as it is written on the pod
  dialect::Annotations written;             // the pre-allocation, as it was last sent
};
using NodesCallPtr = std::shared_ptr<NodesCall>;

// Sets `args`, `ask.nodes` and `object` from the body. An error says why the request cannot be
// answered.
[[nodiscard]] Status read_args(CallContext& context, NodesCall& call);

// False for pods without cards, and for pods without a model if the options let those pass.
[[nodiscard]] bool places(const ExtenderOptions& options, const core::PodSpec& pod);

// How long cards are held for a pod. Unset where kube-scheduler binds without asking us again: then
// they are held until it has bound the pod or can no longer do so
// (scheduler/pre_allocation_reaper.h).
using HoldTime = std::optional<std::chrono::nanoseconds>;
[[nodiscard]] HoldTime hold_time(const ExtenderOptions& options);
[[nodiscard]] base::Instant hold_until(HoldTime hold, base::Instant now);

}  // namespace stowage::extender
