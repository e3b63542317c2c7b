#include "reports/book.h"

#include <algorithm>
#include <utility>

namespace stowage::reports {
namespace {

std::string name_of(const codec::ReportedPod& pod) { return pod.ns + '/' + pod.name; }

// Samples of cards that the node has no more would stay for ever.
void drop_load_of_others(NodePage& page) {
  std::erase_if(page.load, [&](const auto& entry) {
    return std::none_of(page.cards.begin(), page.cards.end(),
                        [&](const auto& card) { return card.index == entry.first; });
  });
}

}  // namespace

bool Book::hear(const std::string& node, codec::AgentReport report, net::Moment now) {
  auto found = entries_.find(node);
  if (found == entries_.end()) {
    if (entries_.size() >= options_.nodes_max) {
      ++counters_.refused;
      return false;
    }
    found = entries_.emplace(node, Entry{}).first;
    found->second.page.node = node;
    found->second.turn = order_.insert(order_.end(), node);
  }
  ++counters_.reports;
  NodePage& page = found->second.page;
  PageChange change;
  change.health = page.heard == net::Moment{} || page.silent;
  order_.splice(order_.end(), page.silent ? silent_ : order_, found->second.turn);
  page.silent = false;
  page.heard = now;
  if (!report.agent.empty()) page.agent = std::move(report.agent);
  if (report.cards) {
    change.cards = *report.cards != page.cards || page.cards_at == net::Moment{};
    page.cards = std::move(*report.cards);
    page.cards_at = now;
    drop_load_of_others(page);
  }
  for (codec::ReportedLoad& load : report.load) {
    if (page.load.size() >= options_.cards_max && page.load.count(load.card) == 0) continue;
    CardLoad& kept = page.load[load.card];
    change.load = true;
    kept = {.values = load, .at = now};
  }
  const bool room = !report.pods || take_pods(page, std::move(*report.pods), change);
  if (!room) ++counters_.refused;
  if (change.any()) tell(page, change);
  return room;
}

bool Book::take_pods(NodePage& page, codec::ReportedPods pods, PageChange& change) {
  std::map<std::string, codec::ReportedPod> now;
  for (codec::ReportedPod& pod : pods.now) {
    std::string name = name_of(pod);
    now.insert_or_assign(std::move(name), std::move(pod));
  }
  const auto remove = [&](const std::string& name) {
    if (page.pods.erase(name) == 0) return;
    --counters_.pods;
    change.pods_gone.push_back(name);
  };
  if (pods.all) {
    page.pods_known = true;
    std::vector<std::string> missing;
    for (const auto& [name, pod] : page.pods) {
      if (now.count(name) == 0) missing.push_back(name);
    }
    for (const std::string& name : missing) remove(name);
  }
  for (const std::string& name : pods.gone) {
    if (now.count(name) == 0) remove(name);
  }
  bool room = true;
  for (auto& [name, pod] : now) {
    if (page.pods.size() >= options_.pods_max && page.pods.count(name) == 0) {
      room = false;
      continue;
    }
    const auto [at, fresh] = page.pods.try_emplace(name);
    if (!fresh && at->second == pod) continue;
    if (fresh) ++counters_.pods;
    at->second = std::move(pod);
    change.pods_now.push_back(name);
  }
  return room;
}

void Book::look(net::Moment now) {
  while (!order_.empty()) {
    NodePage& page = entries_.at(order_.front()).page;
    if (now - page.heard <= options_.silence) return;
    page.silent = true;
    silent_.splice(silent_.end(), order_, order_.begin());
    ++counters_.silences;
    tell(page, {.health = true});
  }
}

void Book::forget(const std::string& node) {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return;
  NodePage page = std::move(found->second.page);
  (page.silent ? silent_ : order_).erase(found->second.turn);
  entries_.erase(found);
  PageChange change{.cards = true, .health = true};
  counters_.pods -= page.pods.size();
  for (const auto& [name, pod] : page.pods) change.pods_gone.push_back(name);
  page.cards.clear();
  page.load.clear();
  page.pods.clear();
  tell(page, change);
}

void Book::tell(const NodePage& page, const PageChange& change) const {
  for (const Listener& listener : listeners_) listener(page, change);
}

const NodePage* Book::page(const std::string& node) const {
  const auto found = entries_.find(node);
  return found == entries_.end() ? nullptr : &found->second.page;
}

std::vector<const NodePage*> Book::pages() const {
  std::vector<const NodePage*> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(&entry.page);
  std::sort(all.begin(), all.end(),
            [](const NodePage* a, const NodePage* b) { return a->node < b->node; });
  return all;
}

Book::Counters Book::counters() const {
  Counters counters = counters_;
  counters.nodes = entries_.size();
  counters.silent = silent_.size();
  return counters;
}

}  // namespace stowage::reports
