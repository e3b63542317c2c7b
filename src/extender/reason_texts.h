// Texts of an extender about nodes and binds. The reason for a node is one of a few texts, equal
// for all nodes that fail alike, because kube-scheduler counts equal texts; numbers go elsewhere.
// If the replaced system has its own well-known phrase, the text starts with it.
#pragma once

#include <string>
#include <string_view>

#include "core/model/reason.h"

namespace stowage::extender {

// Why a node refuses a pod of this dialect, in short.
[[nodiscard]] std::string short_phrase(std::string_view dialect, core::ReasonCode code,
                                       const std::string& uid);
// The whole answer if no node takes the pod and no new node would either.
[[nodiscard]] std::string no_node_helps(std::string_view dialect, const core::Refusal& refusal);
// For a node that is unknown here.
[[nodiscard]] std::string unknown_node_phrase(std::string_view dialect);
// For a node that fits while another one was chosen.
[[nodiscard]] std::string other_node_phrase(std::string_view dialect, const std::string& uid);

// The pod of that name has another uid than the one that the bind is for.
struct UidsDiffer {
  bool elastic_messages = false;
  std::string ns;
  std::string name;
  std::string real;
  std::string given;
};
[[nodiscard]] std::string uids_differ(const UidsDiffer& pod);

}  // namespace stowage::extender
