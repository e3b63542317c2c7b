// Rankings of all nodes for the shapes of pods seen lately, brought up to date lazily.
//
// A decision about a known shape re-judges only the nodes that changed since that shape was last
// asked for. Nothing is sampled: every node has a verdict. A new policy model does not stop the
// world: in a small cluster a ranking is made anew when it is next asked for; in a large one it
// goes on with the model it was made with, while its successor is built a slice per decision.
//
// A verdict whose search was cut (SearchSteps) is looked at again whenever its shape is asked for,
// until it is final.
//
// Bounded: at most so many keys over all rankings, and kMaxBytes of rules over all shapes; the
// shape asked for longest ago gives way.
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

// What the policy has learned, as one immutable value.
struct PolicyModel {
  std::shared_ptr<const PriceModel> price;
  std::shared_ptr<const FgdModel> fgd;
  std::vector<TypicalPod> typical;  // that fgd was made of
};

// What it takes to judge a node for the shape, in judgements of one that is simple.
[[nodiscard]] inline std::uint64_t effort_of(const Shape& shape) {
  return std::max<std::size_t>(1, shape.parts.size());
}

class ShapeCache {
 public:
  struct Entry {
    Shape shape;
    std::shared_ptr<const PolicyModel> model;  // that the ranking was made with
    Ranking ranking;
    std::uint64_t seen_changes = 0;
    std::uint64_t layout = 0;
    std::uint64_t asked_at = 0;
    bool queued = false;
    std::set<NodeIndex> unsearched;  // nodes whose verdict is ReasonCode::search, and maybe others
    std::size_t search_from = 0;     // with which of them to go on
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

  // The entry for pods of this shape; `make` is called if it is not there yet.
  [[nodiscard]] Entry& find(const std::string& key, const std::function<Shape()>& make);
  // Brings the ranking up to date with the ledger, and with the model as far as the class comment
  // promises.
  void refresh(Entry& entry, const std::shared_ptr<const PolicyModel>& model);
  // A slice of the work on successors: that many judgements. Call once per decision.
  void work(std::size_t slice);

  [[nodiscard]] JudgeContext context(const Entry& entry) const;
  [[nodiscard]] std::uint64_t judged() const { return judged_; }
  [[nodiscard]] std::uint64_t effort() const { return effort_; }  // judgements times containers
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kRebuildAtOnce = 4096;  // nodes

  void count(const Entry& entry);
  void rebuild(Entry& entry);
  void judge_into(Entry& entry, const PolicyModel& model, NodeIndex node, Ranking& ranking);
  void catch_up(Entry& entry, std::span<const NodeIndex> changes);
  void search_on(Entry& entry);
  void evict();

  const Ledger& ledger_;
  const PolicyOptions& options_;
  std::size_t keys_;
  SearchSteps* search_;
  std::size_t bytes_ = 0;  // of the keys of shapes, which have their rules in them
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, std::size_t> by_key_;  // lookup only
  std::deque<std::string> queue_;                        // keys of entries with stale models
  std::vector<std::uint32_t> stamps_;                    // by node slot, for change lists
  std::uint32_t stamp_ = 0;
  std::vector<NodeIndex> changed_;  // scratch
  std::uint64_t clock_ = 0;
  std::uint64_t judged_ = 0;
  std::uint64_t effort_ = 0;
};

}  // namespace stowage::core
