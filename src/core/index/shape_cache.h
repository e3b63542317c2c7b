// Rankings of all nodes for recently used shapes of pods, updated lazily.
//
// A decision about a cached shape judges only the nodes that changed since the shape was last used.
// Nothing is sampled: every node has a verdict. A new policy model does not block decisions. In a
// small cluster a ranking is rebuilt on its next use. In a large cluster the old ranking stays in
// use with its old model while its successor is built, one slice per decision.
//
// A verdict whose search was cut (SearchSteps) is judged again on every use of its shape until it
// is final.
//
// Memory is bounded by a number of keys over all rankings and by kMaxBytes of rules over all
// shapes. The least recently used shape is evicted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/index/ranking.h"
#include "core/place/judge.h"
#include "core/policy/fgd.h"
#include "core/price/model.h"

namespace stowage::core {

// The policy's learned state, as one immutable value.
struct PolicyModel {
  std::shared_ptr<const PriceModel> price;
  std::shared_ptr<const FgdModel> fgd;
  std::vector<TypicalPod> typical;  // the input of fgd
};

// The cost of judging a node for the shape, in judgements of a simple shape.
[[nodiscard]] inline std::uint64_t effort_of(const Shape& shape) {
  return std::max<std::size_t>(1, shape.parts.size());
}

class ShapeCache {
 public:
  struct Entry {
    Shape shape;
    std::uint64_t effort = 1;                  // effort_of(shape)
    std::shared_ptr<const PolicyModel> model;  // the model of the ranking
    Ranking ranking;
    std::uint64_t seen_changes = 0;
    std::uint64_t layout = 0;
    std::uint64_t asked_at = 0;
    bool queued = false;
    std::set<NodeIndex> unsearched;  // nodes with verdict ReasonCode::search, and maybe others
    std::size_t search_from = 0;     // where the next search continues
    // The ranking by a newer model, complete below `cursor`.
    struct Successor {
      std::shared_ptr<const PolicyModel> model;
      Ranking ranking;
      std::size_t cursor = 0;
      std::set<NodeIndex> unsearched;
    };
    std::unique_ptr<Successor> next;
  };

  static constexpr std::size_t kMaxKeys = std::size_t{16} << 20U;
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20U;

  // `search`: steps that all judgements share, as in JudgeContext.
  ShapeCache(const Ledger& ledger, const PolicyOptions& options, std::size_t keys = kMaxKeys,
             SearchSteps* search = nullptr);

  // The entry for this shape; `make` is called if none exists yet.
  [[nodiscard]] Entry& find(const std::string& key, const std::function<Shape()>& make);
  // Updates the ranking to the ledger, and to the model as the class comment describes.
  void refresh(Entry& entry, const std::shared_ptr<const PolicyModel>& model);
  // Does this many judgements for successors. Call it once per decision.
  void work(std::size_t slice);

  [[nodiscard]] JudgeContext context(const Entry& entry) const;
  [[nodiscard]] std::uint64_t judged() const { return judged_; }
  [[nodiscard]] std::uint64_t effort() const { return effort_; }  // judgements times containers
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kRebuildAtOnce = 4096;  // nodes

  // With the search steps that all judgements share.
  [[nodiscard]] JudgeContext context(const PolicyModel& model) const;
  void count(const Entry& entry) {
    ++judged_;
    effort_ += entry.effort;
  }
  void rebuild(Entry& entry);
  void judge_into(Entry& entry, const JudgeContext& context, NodeIndex node, Ranking& ranking);
  void catch_up(Entry& entry, std::span<const NodeIndex> changes);
  void search_on(Entry& entry);
  void evict();

  const Ledger& ledger_;
  const PolicyOptions& options_;
  std::size_t keys_;
  SearchSteps* search_;
  std::size_t bytes_ = 0;  // size of the shapes' keys, which contain their rules
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, std::size_t> by_key_;  // lookup only
  std::deque<std::string> queue_;                        // keys of entries with stale models
  std::vector<std::uint32_t> stamps_;                    // by node row, for change lists
  std::uint32_t stamp_ = 0;
  std::vector<NodeIndex> changed_;  // scratch
  std::uint64_t clock_ = 0;
  std::uint64_t judged_ = 0;
  std::uint64_t effort_ = 0;
};

}  // namespace stowage::core
