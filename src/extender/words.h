// What an extender says about nodes and binds. A node's reason is one of few texts, the same for
// all nodes that fail alike, since kube-scheduler counts equal texts; the numbers go elsewhere.
// Where a system that is replaced has words of its own that people know, they come first.
#pragma once

#include <string>
#include <string_view>

#include "core/model/reason.h"

namespace stowage::extender {

// Why a node refuses a pod of this dialect, shortly.
[[nodiscard]] std::string short_phrase(std::string_view dialect, core::ReasonCode code,
                                       const std::string& uid);
// No node takes the pod, and none that is still to come would: the whole answer.
[[nodiscard]] std::string no_node_helps(std::string_view dialect, const core::Refusal& refusal);
// The node is not known to us.
[[nodiscard]] std::string unknown_node_phrase(std::string_view dialect);
// It would fit, but another node was chosen.
[[nodiscard]] std::string other_node_phrase(std::string_view dialect, const std::string& uid);

// The pod of that name has another uid than the one that the bind is for.
struct UidsDiffer {
  std::string_view preset;
  std::string ns;
  std::string name;
  std::string real;
  std::string given;
};
[[nodiscard]] std::string uids_differ(const UidsDiffer& pod);

}  // namespace stowage::extender
