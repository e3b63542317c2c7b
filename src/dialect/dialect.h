// How a pod asks for cards and how the answer is written, and which cards a node has. A pod speaks
// one dialect (table.h lists them); the engine knows none. Pure functions from API objects to the
// engine's model and back. Whatever is absurd is an error that says what to write instead.
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

// What a share of compute takes of the card's memory where the pod asks for none.
enum class MemoryWithCore : std::uint8_t {
  proportional,  // as large a part as of the compute; none where the card's memory is unknown
  none,
};
inline constexpr std::string_view to_word(MemoryWithCore rule) {
  return rule == MemoryWithCore::none ? "none" : "proportional";
}

struct ReadOptions {
  // 150 percent of a card is one whole card, as older schedulers had it, instead of an error.
  bool floor_whole_cards = false;
  // MiB to one nvidia.com/vgpu-memory. Nodes say so too (their memory factor); a pod that asks for
  // that resource goes only to those that say the same.
  std::int32_t vgpu_memory_mib = 1;
  // Somebody else places the pod: rules beyond the limits (core/model/limits.h) are cut as those of
  // a pod on a node are, instead of an error.
  bool placed_by_others = false;
  // Of our own dialect. The others have rules of their own.
  MemoryWithCore memory_with_core = MemoryWithCore::proportional;
};

// What the containers of a pod ask of cards.
struct Reading {
  std::string_view dialect;
  std::vector<core::GpuAsk> asks;  // one for each container; count 0: none
  // Containers that use the cards of the container that asks, and are charged nothing themselves.
  std::vector<std::size_t> followers;
  std::string needs;  // what a node must offer; empty: nothing but cards
  core::Naming naming = core::Naming::always;
  core::PolicyWish wish;
};

// Unset if the pod asks for no card. An error if the pod mixes dialects or asks for what can not
// be.
[[nodiscard]] Result<std::optional<Reading>> read(const PodObject& pod, const ReadOptions& options);

// Does the pod ask for cards at all, in whatever words? Nothing is judged.
[[nodiscard]] bool asks_for_cards(const PodObject& pod);

// The pod as the engine wants it, validated. Resources that mean cards are asks for cards and
// nothing else. A pod that wants a place is within the limits of core/model/limits.h, or an error;
// one on a node is cut to them.
[[nodiscard]] Result<core::PodSpec> to_spec(const PodObject& pod, const ReadOptions& options);

// For a pod that is kept after its spec was made: of one that is over the limits, what nobody will
// ask of it any more goes.
void shed(PodObject& pod);
// A pod that to_spec() cannot read, but that is on a node: all that can be read of it, validated.
// Where it asks for cards in several dialects, each of them counts. An amount that cannot be read
// is more than any node has, and a request for cards that cannot be read is for all of them: such a
// pod takes its node. The last containers stand for what has no place in the pod's own.
[[nodiscard]] core::PodSpec readable_part(const PodObject& pod, const ReadOptions& options);

struct NodeReading {
  core::NodeSpec node;
  // Where several sources describe the cards and disagree, or one can not be read: sentences.
  std::vector<std::string> notes;
  std::int32_t vgpu_memory_mib = 0;  // to one nvidia.com/vgpu-memory; 0: the node does not say
};

// The node as the engine wants it, validated. The cards come from the most trusted source that is
// there: our annotation, then the annotation of a dialect's own agent, then counts and labels. All
// sources speak of the same cards, so they are never added up; the less trusted fill in what the
// others leave open. Memory 0 means that nobody said how much the cards have: whole cards and
// shares of compute can be placed there, shares of memory not.
[[nodiscard]] Result<NodeReading> to_spec(const NodeObject& node);

// The choice of cards in words that others read: our annotation, and the annotations and labels of
// the pod's dialect. Empty if the pod has no cards, or was placed by their number alone.
// Requires: `pod` was read from `object`, the assignment is for it, its cards are the node's.
struct AnswerAsk {
  const PodObject& object;
  const core::PodSpec& pod;
  const core::NodeSpec& node;
  const core::Assignment& cards;
  std::int64_t unix_nanos = 0;  // when they were chosen
};
struct Answer {
  Annotations annotations;
  Annotations labels;  // not merged by a Binding: they are patched onto the pod beforehand
};
[[nodiscard]] Answer answer(const AnswerAsk& ask);

// What the annotations of a BOUND pod say about its cards: ours count before the dialect's own.
// Unset if they say nothing, or if the node is not known (null). An error if they can not be true:
// then the cards of the pod are unknown. On a pod that is not bound annotations are wishes of its
// author and are never read here.
[[nodiscard]] Result<std::optional<core::Assignment>> read_answer(const PodObject& object,
                                                                  const core::PodSpec& pod,
                                                                  const core::NodeSpec* node);

// What read_answer() reads where our own annotation is not there, as it is written.
struct AnswerText {
  std::string text;     // empty: nothing
  bool settled = true;  // false: the agent of the pod's dialect may still give it other cards
};
[[nodiscard]] AnswerText answer_text(const PodObject& object);

// An unbound pod may carry a promise: the node and the cards that were chosen for it when it was
// filtered, by us or by the scheduler that we replace, in its dialect's annotations. Its scheduler
// may bind the pod by it as long as it stands there. `broken`: it will not any more, for it has
// found the pod unschedulable later than that, or the pod is marked as failed. How long it may take
// is not the author's to say: a stuck-grace-period is not read.
struct Promise {
  std::string node;
  core::Assignment cards;
  std::int64_t made_unix_nanos = 0;
  bool broken = false;
};
// The node of a promise, if the pod carries one at all; whether it counts is not asked here.
[[nodiscard]] std::optional<std::string> promised_node(const PodObject& object);
// The promise is written in annotations of ours alone (kPreAllocatedNodeAnnotation). Such a promise
// counts only if it is signed. If kGpusAnnotation is not there, it is of a number of cards.
[[nodiscard]] bool promised_in_our_words(const PodObject& object);
// The node that our own text names, if a signature stands beside it: what the signature was made
// for, whatever the dialect's annotations say. Not verified here.
[[nodiscard]] std::optional<std::string> signed_node(const PodObject& object);
// The signature on the pod, if there is one, was made for a promise, not with the Binding.
[[nodiscard]] bool promised_by_signature(const PodObject& object);
// When it was made, in nanoseconds since 1970, as it is written; unset if it is not. Of bound pods
// too.
[[nodiscard]] std::optional<std::int64_t> promised_at(const PodObject& object);
struct PromiseAsk {
  const PodObject& object;
  const core::PodSpec& pod;
  const core::NodeSpec& node;   // the promised one
  std::int64_t unix_nanos = 0;  // now
  bool is_signed = false;       // so our own text says its cards and its time, whatever others say
};
[[nodiscard]] std::optional<Promise> read_promise(const PromiseAsk& ask);
// What the pod's dialect says means other cards of this node than our own text: the cards have got
// other indexes since it was written. The node has the cards that our text names (absent_cards.h).
[[nodiscard]] bool promise_outdated(const PodObject& object, const core::PodSpec& pod,
                                    const core::NodeSpec& node);
// Its scheduler has found the pod unschedulable in a later second than this: an attempt that began
// before has ended without a bind. The API writes whole seconds, so within one nobody can tell.
[[nodiscard]] bool refused_since(const PodObject& object, std::int64_t unix_nanos);
// The annotations of the pod that say which node and cards it was promised, by us and in its
// dialect.
[[nodiscard]] std::vector<std::string> promise_annotations(const PodObject& object);

// When the cards of this pod were chosen, as our own annotation says: nanoseconds since 1970, in
// the order in which they were chosen. Unset if it does not say.
[[nodiscard]] std::optional<std::int64_t> decided_at(const PodObject& object);

// Facts about a pod that decide whether it may be evicted for another one.
// The gang that the pod belongs to, "namespace/name"; empty if none.
[[nodiscard]] std::string gang_of(const PodObject& object);

// The value of kInventoryAnnotation for these cards.
[[nodiscard]] std::string inventory_text(const std::vector<core::Card>& cards,
                                         const core::LinkMatrix& links);

}  // namespace stowage::dialect
