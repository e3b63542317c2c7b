#include "extender/nodes_call.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stowage::extender {
namespace {

constexpr std::string_view kNoNodes =
    "the request names no nodes: neither NodeNames nor Nodes is set";
constexpr std::string_view kNoNodesElastic =
    "elastic-gpu-scheduler extender must be configured with nodeCacheCapable=true";

// Moves the names out of the request, which keeps its list, now empty or nameless.
std::vector<std::string> take_names(codec::ExtenderArgs& args) {
  if (args.node_names) return std::exchange(*args.node_names, {});
  std::vector<std::string> names;
  names.reserve(args.nodes->size());
  for (auto& node : *args.nodes) names.push_back(std::move(node.name));
  return names;
}

bool constrains_models(const core::PodSpec& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const auto& container) {
    return container.gpu.filter.constrains_models();
  });
}

Status validate_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxName = 253;
  for (const auto& name : names) {
    if (name.empty() || name.size() > kMaxName) {
      return fail(fmt::format("a node is named \"{}\"", name.substr(0, 32)));
    }
  }
  return {};
}

}  // namespace

Status read_args(CallContext& context, NodesCall& call) {
  auto args = context.decoder().args(call.request.http.body);
  if (!args) return fail("cannot read the request: " + args.error().message);
  call.args = std::move(*args);
  if (!call.args.pod) return fail("the request has no Pod");
  if (!call.args.node_names && !call.args.nodes) {
    return fail(std::string(context.options().elastic_messages ? kNoNodesElastic : kNoNodes));
  }
  call.ask.nodes = take_names(call.args);
  STOWAGE_TRY_VOID(validate_names(call.ask.nodes));
  if (std::string why = context.not_ready(); !why.empty()) return fail(std::move(why));
  call.object = std::move(*call.args.pod);
  // The pod of a dry run may have no uid yet.
  if (call.object.uid.empty()) call.object.uid = call.object.ns + "/" + call.object.name;
  return {};
}

bool places(const ExtenderOptions& options, const core::PodSpec& pod) {
  if (!core::asks_for_cards(pod)) return false;
  return !options.without_model_passes || constrains_models(pod);
}

HoldTime hold_time(const ExtenderOptions& options) {
  if (options.mode == Mode::single_node || options.mode == Mode::count) return std::nullopt;
  return options.hold;
}

base::Instant hold_until(HoldTime hold, base::Instant now) {
  return hold ? base::Instant{now.ns + hold->count()} : core::kUntilTold;
}

}  // namespace stowage::extender
