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
  // Adds what the pod wants of its cards besides, by the dialect's annotations.
  Status (*wish)(const PodObject& pod, Reading& reading) = nullptr;
  // Adds the dialect's own annotations and labels to the answer.
  void (*write)(const AnswerAsk& ask, Answer& out) = nullptr;
  // The same backwards; the node is the one that the pod is bound to, or that it is promised.
  Result<std::optional<core::Assignment>> (*read_answer)(const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) = nullptr;
  // The annotations that read_answer reads, by how their keys begin.
  std::span<const std::string_view> answers = {};
  // Of those that read_answer reads, what counts; null: all values, and nobody changes them later.
  AnswerText (*answer_text)(const PodObject& object) = nullptr;
  // A node is promised before the pod is bound, by annotations that begin with this; empty: never.
  std::string_view promises = {};
  std::string_view phase_label = {};  // says "failed" where the promise came to nothing
  // The cards by an annotation of the dialect's agent, and by the node's resources and labels.
  std::optional<CardSource> (*annotated)(const NodeObject& node, Notes& notes) = nullptr;
  std::optional<CardSource> (*counted)(const NodeObject& node, Notes& notes) = nullptr;
  // Adds what a node offers to pods of the dialect (Reading::needs). Null: the dialect's name,
  // where its resources are offered or its agent has described the cards.
  void (*offers)(const NodeObject& node, std::vector<std::string>& names, Notes& notes) = nullptr;
};

[[nodiscard]] std::span<const Dialect> dialects();
[[nodiscard]] bool means_cards(std::string_view resource);
// A resource of the dialect that the pod asks for; null if it does not speak it.
[[nodiscard]] const std::string* spoken(const PodObject& pod, const Dialect& dialect);

// The pod with what was read of its cards, not validated.
[[nodiscard]] Result<core::PodSpec> assemble(const PodObject& pod, std::optional<Reading> reading);

[[nodiscard]] Dialect native();
[[nodiscard]] Dialect nvidia();
[[nodiscard]] Dialect vgpu();          // nvidia.com/vgpu-*
[[nodiscard]] Dialect vcuda();         // tencent.com/
[[nodiscard]] Dialect vcuda_nvidia();  // nvidia.com/vcuda-*
[[nodiscard]] Dialect alnair();
[[nodiscard]] Dialect elastic();      // elasticgpu.io/
[[nodiscard]] Dialect elastic_com();  // elasticgpu.com/
[[nodiscard]] Dialect nano();

}  // namespace stowage::dialect
