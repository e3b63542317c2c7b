#include "core/index/shape_cache.h"

#include <algorithm>
#include <utility>

namespace stowage::core {
namespace {

JudgeContext make_context(const Ledger& ledger, const PolicyOptions& options,
                          const PolicyModel& model) {
  return {.ledger = &ledger,
          .options = &options,
          .price = model.price.get(),
          .fgd = model.fgd.get(),
          .draw = 0};
}

}  // namespace

ShapeCache::ShapeCache(const Ledger& ledger, const PolicyOptions& options, std::size_t keys,
                       SearchSteps* search)
    : ledger_(ledger), options_(options), keys_(keys), search_(search) {}

JudgeContext ShapeCache::context(const Entry& entry) const {
  return make_context(ledger_, options_, *entry.model);
}

ShapeCache::Entry& ShapeCache::find(const std::string& key, const std::function<Shape()>& make) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return *entries_[known->second];
  const std::size_t most =
      std::clamp<std::size_t>(keys_ / std::max<std::size_t>(1, ledger_.nodes().rows()), 16, 1024);
  while (entries_.size() >= most || (bytes_ > kMaxBytes && !entries_.empty())) evict();
  bytes_ += key.size();
  by_key_.emplace(key, entries_.size());
  entries_.push_back(std::make_unique<Entry>());
  Entry& entry = *entries_.back();
  entry.shape = make();
  entry.effort = effort_of(entry.shape);
  return entry;
}

void ShapeCache::evict() {
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const auto& a, const auto& b) { return a->asked_at < b->asked_at; });
  by_key_.erase((*oldest)->shape.key);
  bytes_ -= (*oldest)->shape.key.size();
  if (oldest != entries_.end() - 1) {
    *oldest = std::move(entries_.back());
    by_key_[(*oldest)->shape.key] = static_cast<std::size_t>(oldest - entries_.begin());
  }
  entries_.pop_back();
}

JudgeContext ShapeCache::context(const PolicyModel& model) const {
  JudgeContext context = make_context(ledger_, options_, model);
  context.search = search_;
  return context;
}

void ShapeCache::judge_into(Entry& entry, const JudgeContext& context, NodeIndex node,
                            Ranking& ranking) {
  if (!ledger_.nodes().present(node)) {
    ranking.clear(node);
    return;
  }
  count(entry);
  const Verdict verdict = judge(context, entry.shape, node);
  if (verdict.reason.code == ReasonCode::search) {
    (&ranking == &entry.ranking ? entry.unsearched : entry.next->unsearched).insert(node);
  }
  ranking.set(node, verdict);
}

void ShapeCache::rebuild(Entry& entry) {
  entry.next.reset();
  entry.shape.learn_names(ledger_);
  entry.ranking.reset(ledger_.nodes().rows(), ledger_.nodes().order().ranks());
  entry.unsearched.clear();
  JudgeContext judging = context(*entry.model);
  SearchSteps none;  // no steps, for nodes that must wait for their turn
  Verdict verdict;
  entry.ranking.assign([&](NodeIndex node) -> const Verdict* {
    if (!ledger_.nodes().present(node)) return nullptr;
    count(entry);
    judging.search = node.at() < entry.search_from ? &none : search_;
    verdict = judge(judging, entry.shape, node);
    if (verdict.reason.code == ReasonCode::search) entry.unsearched.insert(node);
    return &verdict;
  });
  entry.layout = ledger_.nodes().order().version();
  entry.seen_changes = ledger_.changes().count();
}

// In a large cluster most rows read here are not in the CPU caches. The order of rows is known, so
// they are prefetched: first a node's row, then its cards.
void ShapeCache::catch_up(Entry& entry, std::span<const NodeIndex> changes) {
  if (stamps_.size() < ledger_.nodes().rows()) stamps_.resize(ledger_.nodes().rows(), 0);
  if (++stamp_ == 0) {
    std::fill(stamps_.begin(), stamps_.end(), 0);
    stamp_ = 1;
  }
  changed_.clear();
  constexpr std::size_t kStampAhead = 16;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i + kStampAhead < changes.size()) {
      __builtin_prefetch(&stamps_[changes[i + kStampAhead].at()], 1);
    }
    const NodeIndex node = changes[i];
    if (std::exchange(stamps_[node.at()], stamp_) == stamp_) continue;
    changed_.push_back(node);
  }
  const JudgeContext judging = context(*entry.model);
  constexpr std::size_t kRowAhead = 12;
  constexpr std::size_t kCardsAhead = 6;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    if (i + kRowAhead < changed_.size()) {
      ledger_.nodes().prefetch_node(changed_[i + kRowAhead]);
      entry.ranking.soon(changed_[i + kRowAhead]);
    }
    if (i + kCardsAhead < changed_.size()) {
      ledger_.nodes().prefetch_cards(changed_[i + kCardsAhead]);
    }
    const NodeIndex node = changed_[i];
    judge_into(entry, judging, node, entry.ranking);
    if (entry.next && node.at() < entry.next->cursor) {
      judge_into(entry, context(*entry.next->model), node, entry.next->ranking);
    }
  }
  entry.seen_changes = ledger_.changes().count();
}

// Continues searches that were cut, as far as the steps of this event allow. Nodes take turns, even
// if the ranking is rebuilt in between.
void ShapeCache::search_on(Entry& entry) {
  auto& nodes = entry.unsearched;
  while (!nodes.empty() && search_->left > 0) {
    auto at = nodes.lower_bound(NodeIndex(entry.search_from));
    if (at == nodes.end()) at = nodes.begin();
    const NodeIndex node = *at;
    nodes.erase(at);
    entry.search_from = node.at() + 1;
    const bool open = ledger_.nodes().present(node) && !entry.ranking.feasible(node) &&
                      entry.ranking.reason(node).code == ReasonCode::search;
    if (open) judge_into(entry, context(*entry.model), node, entry.ranking);
  }
  if (nodes.empty()) entry.search_from = 0;
}

void ShapeCache::refresh(Entry& entry, const std::shared_ptr<const PolicyModel>& model) {
  entry.asked_at = ++clock_;
  const auto changes = ledger_.changes().since(entry.seen_changes);
  const bool small = ledger_.nodes().rows() <= kRebuildAtOnce;
  if (!entry.model || entry.layout != ledger_.nodes().order().version() || !changes ||
      (entry.model != model && small) || changes->size() > 2 * ledger_.nodes().rows()) {
    entry.model = model;
    rebuild(entry);
    return;
  }
  entry.shape.learn_names(ledger_);
  catch_up(entry, *changes);
  if (!entry.unsearched.empty()) search_on(entry);
  if (entry.model != model && !entry.queued) {
    entry.queued = true;
    if (!entry.next) {
      entry.next = std::make_unique<Entry::Successor>();
      entry.next->model = model;
    }
    queue_.push_back(entry.shape.key);
  }
}

void ShapeCache::work(std::size_t slice) {
  std::size_t budget = slice;
  while (budget > 0 && !queue_.empty()) {
    const auto found = by_key_.find(queue_.front());
    Entry* entry = found == by_key_.end() ? nullptr : entries_[found->second].get();
    if (entry == nullptr || !entry->next || entry->layout != ledger_.nodes().order().version()) {
      if (entry != nullptr) entry->queued = false;  // evicted or rebuilt since
      queue_.pop_front();
      continue;
    }
    const auto changes = ledger_.changes().since(entry->seen_changes);
    if (!changes) {
      entry->model = entry->next->model;
      entry->queued = false;
      rebuild(*entry);
      queue_.pop_front();
      return;
    }
    Entry::Successor& next = *entry->next;
    entry->shape.learn_names(ledger_);
    if (next.cursor == 0) {
      next.ranking.reset(ledger_.nodes().rows(), ledger_.nodes().order().ranks());
    }
    const std::size_t end = std::min(next.cursor + budget, ledger_.nodes().rows());
    budget -= end - next.cursor;
    // A slot that changed but was not caught up with yet is judged in its current state. The later
    // catch-up judges it again, with the same verdict.
    const JudgeContext judging = context(*next.model);
    for (; next.cursor < end; ++next.cursor) {
      judge_into(*entry, judging, NodeIndex(next.cursor), next.ranking);
    }
    if (next.cursor < ledger_.nodes().rows()) return;
    entry->model = next.model;
    entry->ranking = std::move(next.ranking);
    entry->unsearched.merge(next.unsearched);
    entry->next.reset();
    entry->queued = false;
    queue_.pop_front();
  }
}

}  // namespace stowage::core
