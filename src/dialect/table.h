// The dialects, one file each. To add one: write its file, declare it here, add it to table.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/dialect.h"

namespace stowage::dialect {

// The cards of a node according to one source.
struct CardSource {
  std::string what;  // for notes, e.g. "nvidia.com/gpu"
  std::vector<core::Card> cards;
  core::LinkMatrix links;
  std::int32_t memory_unit_mib = 1;  // memory is known to within this much
};

using Notes = std::vector<std::string>;

// Members may be null where a dialect has nothing to say.
struct Dialect {
  std::string_view name;
  // The resources that mean cards. On a node and in a pod they are never plain resources.
  std::span<const std::string_view> resources;
  // Called if the pod asks for some of the resources. `asks` of the reading has its size already.
  Status (*read)(const PodObject& pod, const ReadOptions& options, Reading& reading) = nullptr;
  // Adds the dialect's own annotations to the answer.
  void (*write)(const AnswerAsk& ask, Annotations& out) = nullptr;
  // The same backwards; the node is the one that the pod is bound to.
  Result<std::optional<core::Assignment>> (*read_answer)(const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) = nullptr;
  // The cards by an annotation of the dialect's agent, and by the node's resources and labels.
  std::optional<CardSource> (*annotated)(const NodeObject& node, Notes& notes) = nullptr;
  std::optional<CardSource> (*counted)(const NodeObject& node, Notes& notes) = nullptr;
};

[[nodiscard]] std::span<const Dialect> dialects();
[[nodiscard]] bool means_cards(std::string_view resource);

[[nodiscard]] Dialect native();
[[nodiscard]] Dialect nvidia();
[[nodiscard]] Dialect vcuda();         // tencent.com/
[[nodiscard]] Dialect vcuda_nvidia();  // nvidia.com/vcuda-*
[[nodiscard]] Dialect alnair();
[[nodiscard]] Dialect elastic();      // elasticgpu.io/
[[nodiscard]] Dialect elastic_com();  // elasticgpu.com/

}  // namespace stowage::dialect
