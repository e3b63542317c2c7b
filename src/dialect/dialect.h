// How a pod requests cards, how the answer is written, and which cards a node has. A pod uses one
// dialect (table.h lists them); the engine knows none of them. Pure functions that convert API
// objects to the engine's model and back. Errors say what to write instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "dialect/objects.h"
#include "dialect/own_annotations.h"

namespace stowage::dialect {

// The memory of a share of compute if the pod requests none.
enum class MemoryWithCore : std::uint8_t {
  proportional,  // the same fraction as of the compute; none if the card's memory is unknown
  none,
};
inline constexpr std::string_view to_string(MemoryWithCore rule) {
  return rule == MemoryWithCore::none ? "none" : "proportional";
}

struct ReadOptions {
  // 150 percent of a card is one whole card, as in older schedulers, instead of an error.
  bool floor_whole_cards = false;
  // MiB per unit of nvidia.com/vgpu-memory. Nodes state their own unit (memory factor); a pod that
  // requests this resource goes only to nodes with the same unit.
  std::int32_t vgpu_memory_mib = 1;
  // Another scheduler places the pod: rules beyond the limits (core/model/limits.h) are cut as for
  // a pod on a node, instead of an error.
  bool placed_by_others = false;
  // For our own dialect only. The others have their own rules.
  MemoryWithCore memory_with_core = MemoryWithCore::proportional;
};

// The card requests of a pod's containers.
struct Reading {
  std::string_view dialect;
  std::vector<core::GpuRequest> asks;  // by container; count 0: none
  // Containers that use the cards of the requesting container and are not charged themselves.
  std::vector<std::size_t> followers;
  std::string needs;  // what a node must offer; empty: only cards
  core::Naming naming = core::Naming::always;
  core::PolicyWish wish;
};

// Unset if the pod requests no cards. An error if the pod mixes dialects or its request is
// impossible.
[[nodiscard]] Result<std::optional<Reading>> read(const PodObject& pod, const ReadOptions& options);

// True if the pod requests cards in any dialect. Nothing is validated.
[[nodiscard]] bool asks_for_cards(const PodObject& pod);

// An error if a container asks for an unknown resource in our own domain, which no node will ever
// offer; it names a similar one.
[[nodiscard]] Status check_own_names(const PodObject& pod);

// The pod for the engine, validated. Resources that mean cards become card requests only. A pending
// pod must be within the limits of core/model/limits.h, otherwise an error; a pod on a node is cut
// to them.
[[nodiscard]] Result<core::PodSpec> to_spec(const PodObject& pod, const ReadOptions& options);

// Reduces a pod that is stored after its spec was built: removes data beyond the limits that is no
// longer needed.
void shed(PodObject& pod);
// For a pod on a node that to_spec() cannot read: all of it that can be read, validated. If it
// requests cards in several dialects, each of them counts. An unreadable amount counts as more than
// any node has, and an unreadable card request as a request for all cards, so such a pod takes its
// whole node. Containers are appended for requests that do not fit into the pod's own containers.
[[nodiscard]] core::PodSpec readable_part(const PodObject& pod, const ReadOptions& options);

struct NodeReading {
  core::NodeSpec node;
  // Messages about sources of cards that disagree or cannot be read.
  std::vector<std::string> notes;
  std::int32_t vgpu_memory_mib = 0;  // per unit of nvidia.com/vgpu-memory; 0: unknown
};

// The node for the engine, validated. The cards come from the most trusted source: our annotation,
// then the annotation of a dialect's own agent, then counts and labels. All sources describe the
// same cards, so they are never added up; less trusted sources only fill in missing data. Memory 0
// means unknown: such cards take whole-card requests and shares of compute, but no shares of
// memory.
[[nodiscard]] Result<NodeReading> to_spec(const NodeObject& node);

// The choice of cards as others read it: our annotation, and the annotations and labels of the
// pod's dialect. Empty if the pod has no cards or was placed by number. Requires: `pod` was read
// from `object`, the assignment belongs to it, its cards belong to the node.
struct AnswerRequest {
  const PodObject& object;
  const core::PodSpec& pod;
  const core::NodeSpec& node;
  const core::Assignment& cards;
  std::int64_t unix_nanos = 0;  // when they were chosen
};
struct Answer {
  Annotations annotations;
  Annotations labels;  // not merged by a Binding, so they are patched onto the pod before it
};
[[nodiscard]] Answer answer(const AnswerRequest& ask);

// The cards of a BOUND pod according to its annotations; ours take precedence over the dialect's.
// Unset if there are none, or if the node is unknown (null). An error if they cannot be true; the
// pod's cards are unknown then. Annotations of a pod that is not bound are wishes of its author and
// are never read here.
[[nodiscard]] Result<std::optional<core::Assignment>> read_answer(const PodObject& object,
                                                                  const core::PodSpec& pod,
                                                                  const core::NodeSpec* node);

// The raw text of the annotations that read_answer() reads if our own annotation is missing.
struct AnswerText {
  std::string text;     // empty: none
  bool settled = true;  // false: the agent of the dialect may still assign other cards
};
[[nodiscard]] AnswerText answer_text(const PodObject& object);

// An unbound pod may have a pre-allocation: the node and cards that were chosen in filter, by us or
// by the scheduler that we replace, in the annotations of its dialect. Its scheduler may bind the
// pod by it as long as it is present. `broken`: it will not any more, because it has found the pod
// unschedulable since, or because the pod is marked as failed. The pod's author cannot set the
// duration: stuck-grace-period is not read.
struct PreAllocation {
  std::string node;
  core::Assignment cards;
  std::int64_t made_unix_nanos = 0;
  bool broken = false;
};
// The node of a pre-allocation, if the pod has one, whether or not it is valid.
[[nodiscard]] std::optional<std::string> pre_allocated_node(const PodObject& object);
// True if the pre-allocation is written only in our annotations (kPreAllocatedNodeAnnotation). Such
// a pre-allocation counts only if it is signed. Without kGpusAnnotation, it is for a number of
// cards.
[[nodiscard]] bool pre_allocated_in_our_words(const PodObject& object);
// The node in our own annotation, if there is a signature: the node that was signed, whatever the
// dialect's annotations say. The signature is not verified here.
[[nodiscard]] std::optional<std::string> signed_node(const PodObject& object);
// True if the pod has a signature for a pre-allocation, not for a Binding.
[[nodiscard]] bool pre_allocated_by_signature(const PodObject& object);
// When it was made, in nanoseconds since 1970; unset if missing. Also for bound pods.
[[nodiscard]] std::optional<std::int64_t> pre_allocated_at(const PodObject& object);
struct PreAllocationRequest {
  const PodObject& object;
  const core::PodSpec& pod;
  const core::NodeSpec& node;   // the pre-allocated node
  std::int64_t unix_nanos = 0;  // now
  bool is_signed =
      false;  // our own text then gives the cards and the time, whatever other annotations say
};
[[nodiscard]] std::optional<PreAllocation> read_pre_allocation(const PreAllocationRequest& ask);
// True if the dialect's annotations refer to other cards of this node than our own text, because
// the indexes of the cards have changed since. Requires: the node has the cards that our text names
// (absent_cards.h).
[[nodiscard]] bool pre_allocation_outdated(const PodObject& object, const core::PodSpec& pod,
                                           const core::NodeSpec& node);
// True if its scheduler found the pod unschedulable in a later second than this, so an attempt that
// began before has ended without a bind. The API has a resolution of one second, so the order
// within a second is unknown.
[[nodiscard]] bool refused_since(const PodObject& object, std::int64_t unix_nanos);
// The annotations of the pod that hold its pre-allocated node and cards, ours and the dialect's.
[[nodiscard]] std::vector<std::string> pre_allocation_annotations(const PodObject& object);

// When the cards of this pod were chosen, according to our own annotation: nanoseconds since 1970,
// in the order of the decisions. Unset if missing.
[[nodiscard]] std::optional<std::int64_t> decided_at(const PodObject& object);

// The gang of the pod, "namespace/name"; empty if none. Used to decide which pods may be evicted.
[[nodiscard]] std::string gang_of(const PodObject& object);

// The value of kInventoryAnnotation for these cards.
[[nodiscard]] std::string inventory_text(const std::vector<core::Card>& cards,
                                         const core::LinkMatrix& links);

}  // namespace stowage::dialect
