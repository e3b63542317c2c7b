// One policy at work on the ledger: its rankings of nodes, what it has learned, and its choice for
// a pod. An engine has one planner per profile; all of them read the same ledger, and none writes
// to it. Every planner is told of all pods that come and go: demand is one, whoever serves it.
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

  // `keys`: how many its rankings may have altogether. `search`: steps that are left to the search
  // for cards in this event, for all planners together; null: as many as each may take.
  Planner(Ledger& ledger, PolicyOptions options, std::size_t keys = ShapeCache::kMaxKeys,
          SearchSteps* search = nullptr);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // What the planner keeps about pods of this shape. Valid until it is asked for another pod.
  using Entry = ShapeCache::Entry;
  [[nodiscard]] Entry& entry_for(const PodSpec& pod);

  // ---- pods come and go, in whatever profile. Kinds are kNoKind for policies that do not learn.
  std::uint32_t arrived(Entry& entry, Try which);  // its kind
  void accepted(PodIndex pod, std::uint32_t kind);
  void refused(std::uint32_t kind);  // at its first try
  void departed(PodIndex pod);       // before the ledger forgets it

  // ---- decisions
  // What a choice has to heed besides the shape of the pod. Both may be empty.
  struct Heed {
    std::function<bool(NodeIndex)> allowed;
    // Which of these, whose cost is the same; there is at least one.
    std::function<NodeIndex(const std::vector<NodeIndex>&)> among;
  };
  [[nodiscard]] Choice choose(Entry& entry, std::uint32_t kind, const Heed& heed);
  // For a choice among some nodes only: the ranking brought up to date, and whether the policy is
  // willing to use this node, or keeps it for others.
  [[nodiscard]] const Ranking& ranked(Entry& entry);
  [[nodiscard]] bool willing(const Entry& entry, std::uint32_t kind, NodeIndex node);
  // Requires: chosen from the same entry, and nothing has changed since.
  [[nodiscard]] Assignment cards_on(const PodSpec& pod, const Entry& entry, NodeIndex node);
  [[nodiscard]] Refusal refusal(Entry& entry, bool held_back) const;
  [[nodiscard]] Reason verdict(const Shape& shape, NodeIndex node) const;
  // A slice of the work that a newer model makes. Call once per decision.
  void work();

  // ---- records (recording.cc)
  [[nodiscard]] DecisionRecord record(const PodSpec& pod, const Heed& heed);
  [[nodiscard]] Result<Commands> replay(const DecisionRecord& record);

  [[nodiscard]] const PolicyOptions& options() const { return options_; }
  [[nodiscard]] bool learns() const { return learns_; }
  [[nodiscard]] std::uint64_t judged() const { return cache_.judged(); }
  [[nodiscard]] std::uint64_t effort() const { return cache_.effort(); }
  [[nodiscard]] std::size_t shapes() const { return cache_.size(); }
  [[nodiscard]] std::uint64_t models_learned() const { return models_learned_; }

 private:
  Choice pick(Entry& entry, std::uint32_t kind, const Heed& heed);
  Choice pick_at_random(const Ranking& ranking, const Heed& heed) const;
  [[nodiscard]] bool spares_blocks(const Entry& entry, const Blocks::Rules& rules, NodeIndex node);
  void learn();
  void publish_model();
  [[nodiscard]] JudgeContext context() const;
  [[nodiscard]] std::vector<TypicalPod> typical() const;

  Commands decide_only(const PodSpec& pod, Entry& entry, std::uint32_t kind, const Heed& heed);
  LearnedState learned_state(const PolicyModel& model, std::uint32_t kind);
  void restore(const LearnedState& learned);

  Ledger& ledger_;  // to intern names of resources; nothing else is changed
  PolicyOptions options_;
  SearchSteps* search_;
  ShapeCache cache_;
  Learner learner_;
  Blocks blocks_;
  bool uses_price_;
  bool uses_fgd_;
  bool learns_;
  std::shared_ptr<const PolicyModel> model_;
  // Models of cards known when model_->fgd was made: changes with every new one.
  [[nodiscard]] std::size_t models_known() const {
    return ledger_.models().size() + ledger_.models_version();
  }
  std::size_t fgd_models_ = 0;
  std::vector<std::uint32_t> kind_of_pod_;  // by PodIndex
  std::string key_;                         // scratch
  std::uint64_t draw_ = 0;
  std::uint64_t models_learned_ = 0;
};

}  // namespace stowage::core
