// One policy applied to the ledger: its rankings of nodes, its learned model, and its choice for a
// pod. An engine has one planner per profile. All planners read the same ledger and none changes
// it. Every planner learns about all pods that arrive and leave, because demand does not depend on
// the profile that serves it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/index/shape_cache.h"
#include "core/model/event.h"
#include "core/price/blocks.h"
#include "core/price/learner.h"
#include "core/record/decision.h"

namespace stowage::core {

class Planner {
 public:
  enum class Try : std::uint8_t { first, again };
  struct Choice {
    NodeIndex node;  // invalid: no node takes the pod
    bool held_back = false;
  };
  static constexpr std::uint32_t kNoKind = ~0U;

  // `keys`: most keys that all its rankings may have together. `search`: steps left to the search
  // for cards in this event, shared by all planners; null: each search may take its maximum.
  Planner(Ledger& ledger, PolicyOptions options, std::size_t keys = ShapeCache::kMaxKeys,
          SearchSteps* search = nullptr);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The planner's data about pods of this shape. Valid until the next call of entry_for().
  using Entry = ShapeCache::Entry;
  [[nodiscard]] Entry& entry_for(const PodSpec& pod);

  // ---- arrivals and departures of pods of all profiles. Kinds are kNoKind for policies that do
  // not learn.
  std::uint32_t arrived(Entry& entry, Try which);  // returns the pod's kind
  void accepted(PodIndex pod, std::uint32_t kind);
  void refused(std::uint32_t kind);  // on the first try
  void departed(PodIndex pod);       // before the ledger removes it

  // ---- decisions
  // Constraints of a choice besides the pod's shape. Both may be empty.
  struct ChoiceOptions {
    std::function<bool(NodeIndex)> allowed;
    // Chooses one of these nodes of equal cost; there is at least one.
    std::function<NodeIndex(const std::vector<NodeIndex>&)> among;
  };
  [[nodiscard]] Choice choose(Entry& entry, std::uint32_t kind,
                              const ChoiceOptions& choice_options);
  // For a choice among some nodes only. ranked() brings the ranking up to date; willing() is false
  // if the policy keeps this node for other pods.
  [[nodiscard]] const Ranking& ranked(Entry& entry);
  [[nodiscard]] bool willing(const Entry& entry, std::uint32_t kind, NodeIndex node);
  // Requires: the node was chosen from this entry, and nothing has changed since.
  [[nodiscard]] Assignment cards_on(const PodSpec& pod, const Entry& entry, NodeIndex node);
  [[nodiscard]] Refusal refusal(Entry& entry, bool held_back) const;
  [[nodiscard]] Reason verdict(const Shape& shape, NodeIndex node) const;
  // Does a slice of the work for a newer model. Call it once per decision.
  void work();

  // ---- records (recording.cc)
  [[nodiscard]] DecisionRecord record(const PodSpec& pod, const ChoiceOptions& choice_options);
  [[nodiscard]] Result<Commands> replay(const DecisionRecord& record);

  [[nodiscard]] const PolicyOptions& options() const { return options_; }
  [[nodiscard]] bool learns() const { return learns_; }
  [[nodiscard]] const ShapeCache& cache() const { return cache_; }
  [[nodiscard]] std::uint64_t models_learned() const { return models_learned_; }

 private:
  Choice pick(Entry& entry, std::uint32_t kind, const ChoiceOptions& choice_options);
  Choice pick_at_random(const Ranking& ranking, const ChoiceOptions& choice_options) const;
  [[nodiscard]] bool spares_blocks(const Entry& entry, const Blocks::Rules& rules, NodeIndex node);
  void learn();
  void publish_model();
  [[nodiscard]] JudgeContext context() const;
  [[nodiscard]] std::vector<TypicalPod> typical() const;

  Commands decide_only(const PodSpec& pod, Entry& entry, std::uint32_t kind,
                       const ChoiceOptions& choice_options);
  LearnedState learned_state(const PolicyModel& model, std::uint32_t kind);
  void restore(const LearnedState& learned);

  Ledger& ledger_;  // changed only to intern resource names
  PolicyOptions options_;
  SearchSteps* search_;
  ShapeCache cache_;
  Learner learner_;
  Blocks blocks_;
  bool uses_price_;
  bool uses_fgd_;
  bool learns_;
  std::shared_ptr<const PolicyModel> model_;
  // Known card models; grows with every new model. fgd_models_ is its value when model_->fgd was
  // made.
  [[nodiscard]] std::size_t models_known() const {
    return ledger_.names().models().names().size() + ledger_.names().models().version();
  }
  std::size_t fgd_models_ = 0;
  std::vector<std::uint32_t> kind_of_pod_;  // by PodIndex
  std::string key_;                         // scratch
  std::uint64_t draw_ = 0;
  std::uint64_t models_learned_ = 0;
};

}  // namespace stowage::core
