// The dialects, one file each. To add one: write its file, declare it here, add it to table.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/dialect.h"
#include "dialect/node_resources.h"

namespace stowage::dialect {

// The cards of a node according to one source.
struct CardSource {
  std::string what;  // for notes, e.g. "nvidia.com/gpu"
  std::vector<core::Card> cards;
  core::LinkMatrix links;
  std::int32_t memory_unit_mib = 1;  // precision of the memory size
};

using Notes = std::vector<std::string>;

// Members may be null if a dialect has no such feature.
struct Dialect {
  std::string_view name;
  // The resources that mean cards. They are never plain resources, neither of a node nor of a pod.
  std::span<const std::string_view> resources;
  // Those of them that Stowage publishes on nodes whose cards its own device plugin gives out.
  std::span<const CardAmount> publishes = {};
  // Called if the pod requests some of the resources. `asks` of the reading already has its size.
  Status (*read)(const PodObject& pod, const ReadOptions& options, Reading& reading) = nullptr;
  // Adds the pod's wishes about its cards from the dialect's annotations.
  Status (*wish)(const PodObject& pod, Reading& reading) = nullptr;
  // Adds the dialect's own annotations and labels to the answer.
  void (*write)(const AnswerRequest& ask, Answer& out) = nullptr;
  // The reverse. The node is the one that the pod is bound to or pre-allocated on.
  Result<std::optional<core::Assignment>> (*read_answer)(const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) = nullptr;
  // Prefixes of the annotations that read_answer reads.
  std::span<const std::string_view> answers = {};
  bool answers_by_index = false;  // they have the indexes of the cards, but not their ids
  // The values that count among those; null: all of them, and they never change later.
  AnswerText (*answer_text)(const PodObject& object) = nullptr;
  // Prefixes of the keys that write() writes for the chosen cards. They are signed (decision.h),
  // and deploy/admission.yaml forbids other writers.
  std::span<const std::string_view> chosen = {};
  // Prefix of the annotations that pre-allocate a node before the pod is bound; empty: the dialect
  // has none.
  std::string_view pre_allocations = {};
  std::string_view phase_label = {};  // its value is "failed" if the pre-allocation failed
  // The cards from an annotation of the dialect's agent, and from the node's resources and labels.
  std::optional<CardSource> (*annotated)(const NodeObject& node, Notes& notes) = nullptr;
  std::optional<CardSource> (*counted)(const NodeObject& node, Notes& notes) = nullptr;
  // Adds what a node offers to pods of the dialect (Reading::needs). Null: the dialect's name, if
  // its resources are offered or its agent has described the cards.
  void (*offers)(const NodeObject& node, std::vector<std::string>& names, Notes& notes) = nullptr;
};

[[nodiscard]] std::span<const Dialect> dialects();
[[nodiscard]] bool means_cards(std::string_view resource);
// A resource of the dialect that the pod requests; null if none exists.
[[nodiscard]] const std::string* spoken(const PodObject& pod, const Dialect& dialect);

// Builds the spec from the pod and its card requests, without validation.
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
