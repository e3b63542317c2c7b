// The engine's state and steps (see engine.h for the contract). Split by what the steps are about:
// engine.cc takes events, decide.cc finds places, recording.cc writes and replays decisions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/waiting.h"
#include "core/index/shape_cache.h"
#include "core/price/blocks.h"
#include "core/price/learner.h"
#include "core/record/decision.h"

namespace stowage::core {

class Engine::Body {
 public:
  explicit Body(PolicyOptions options);

  Commands handle(const Event& event);
  std::vector<NodeVerdict> explain(const PodSpec& pod);
  std::string record_decision(const PodSpec& pod);
  Result<Commands> replay(const DecisionRecord& record);
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] Counters counters() const;

 private:
  static constexpr std::uint32_t kNoKind = ~0U;
  enum class Try : std::uint8_t { first, again };
  struct Choice {
    NodeIndex node;
    bool held_back = false;
  };
  struct Binding {  // a bind command whose reply has not come yet
    PodSpec pod;
    std::uint64_t arrival = 0;
  };

  // engine.cc
  void on(const NodeChanged& e);
  void on(const NodeGone& e);
  void on(const PodPending& e);
  void on(const PodSeenBound& e);
  void on(const BindDone& e);
  void on(const BindFailed& e);
  void on(const PodGone& e);
  void on(const Tick& e);
  void reject(const std::string& subject, std::string why);
  NodeIndex release(PodIndex pod);
  // There is more room on this node: parked pods that it can hold now are tried. All other nodes
  // refused them, and nothing has changed there.
  void wake(NodeIndex node);
  // Tries parked pods, the most urgent first: those that the node can hold, or all if it is
  // invalid.
  void try_parked(NodeIndex node);
  bool fits_on(const PodSpec& pod, NodeIndex node);
  bool try_first(const std::string& shape_key);

  // decide.cc
  ShapeCache::Entry& entry_for(const PodSpec& pod);
  // Finds a place for the pod, reserves it and asks for the bind; or parks the pod and says why.
  bool place(const PodSpec& pod, std::uint64_t arrival, Try which);
  Choice choose(ShapeCache::Entry& entry, std::uint32_t kind);
  Assignment cards_on(const PodSpec& pod, const ShapeCache::Entry& entry, NodeIndex node);
  void bind(const PodSpec& pod, std::uint64_t arrival, const ShapeCache::Entry& entry,
            const Choice& choice, std::uint32_t kind);
  [[nodiscard]] Refuse refusal(const PodSpec& pod, ShapeCache::Entry& entry, bool held_back) const;
  void note_accepted(PodIndex pod, std::uint32_t kind);
  void learn();
  void publish_model();
  [[nodiscard]] JudgeContext context() const;
  [[nodiscard]] std::vector<TypicalPod> typical() const;

  // recording.cc
  Commands decide_only(const PodSpec& pod, ShapeCache::Entry& entry, std::uint32_t kind);
  LearnedState learned_state(const PolicyModel& model, std::uint32_t kind);
  void restore(const LearnedState& learned);

  PolicyOptions options_;
  Ledger ledger_;
  ShapeCache cache_;
  Learner learner_;
  Blocks blocks_;
  bool uses_price_;
  bool uses_fgd_;
  bool learns_;
  std::shared_ptr<const PolicyModel> model_;
  std::size_t fgd_models_ = 0;  // models of cards known when model_->fgd was made
  Waiting waiting_;
  std::unordered_map<std::string, Binding> binding_;  // lookup only
  std::vector<std::uint32_t> kind_of_pod_;            // by PodIndex
  std::string key_;                                   // scratch
  std::uint64_t arrivals_ = 0;
  std::uint64_t draw_ = 0;
  Counters counters_;
  Commands out_;
};

}  // namespace stowage::core
