#include "reports/book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::reports {
namespace {

std::string name_of(const codec::ReportedPod& pod) { return pod.ns + '/' + pod.name; }

// What an entry of a tree takes besides what is in it, with the block that it lies in.
constexpr std::size_t kTreeEntry = 48;
constexpr std::size_t kPageBytes =
    1024;  // a page with nothing on it, under its name here and there
constexpr std::size_t kLoadBytes = sizeof(CardLoad) + kTreeEntry;
// An entry of the metrics API and one of the roster for a pod: what they take with its name four
// times, beside their copy of its devices.
constexpr std::size_t kPodElsewhere = 512;

std::size_t cost(const std::string& name, const codec::ReportedPod& pod) {
  return kTreeEntry + kPodElsewhere + 4 * name.size() + 2 * codec::bytes_of(pod);
}

std::size_t cost(const std::vector<codec::ReportedCard>& cards) {
  std::size_t bytes = 0;
  for (const codec::ReportedCard& card : cards) bytes += codec::bytes_of(card);
  return bytes;
}

// Samples of cards that the node has no more would stay for ever.
void drop_load_of_others(NodePage& page) {
  std::erase_if(page.load, [&](const auto& entry) {
    return std::none_of(page.cards.begin(), page.cards.end(),
                        [&](const auto& card) { return card.index == entry.first; });
  });
}

}  // namespace

Status Book::hear(const std::string& node, codec::AgentReport report, net::Moment now) {
  auto found = entries_.find(node);
  if (found == entries_.end()) {
    if (entries_.size() >= options_.nodes_max) return refuse(Room::too_many_nodes);
    found = entries_.emplace(node, Entry{}).first;
    found->second.page.node = node;
    found->second.turn = order_.insert(order_.end(), node);
    charge(found->second, 0, kPageBytes + 4 * node.size());
  }
  ++counters_.reports;
  Entry& entry = found->second;
  NodePage& page = entry.page;
  PageChange change;
  change.health = page.heard == net::Moment{} || page.silent;
  order_.splice(order_.end(), page.silent ? silent_ : order_, entry.turn);
  page.silent = false;
  page.heard = now;
  if (!report.agent.empty()) page.agent = std::move(report.agent);
  Room room = Room::there;
  if (report.cards) room = take_cards(entry, std::move(*report.cards), now, change);
  take_load(entry, report.load, now, change);
  if (report.pods && room == Room::there) {
    room = take_pods(entry, std::move(*report.pods), change);
  }
  if (change.any()) tell(page, change);
  if (room != Room::there) return refuse(room);
  return {};
}

// ---- room

Book::Room Book::room(const Entry& entry, std::size_t before, std::size_t after) const {
  if (after <= before) return Room::there;
  const std::size_t node = entry.bytes - before + after;
  if (node > options_.node_bytes_max) return Room::node_spent;
  const bool fair = node <= options_.bytes_max / std::max<std::size_t>(options_.nodes_max, 1);
  return fair || bytes_ - before + after <= options_.bytes_max ? Room::there : Room::all_spent;
}

void Book::charge(Entry& entry, std::size_t before, std::size_t after) {
  entry.bytes += after - before;
  bytes_ += after - before;
}

Status Book::refuse(Room why) {
  ++counters_.refused;
  switch (why) {
    case Room::too_many_nodes:
      ++counters_.refused_nodes;
      return fail(fmt::format("{} nodes report already, and there is no room for another",
                              options_.nodes_max));
    case Room::too_many_pods:
      ++counters_.refused_pods;
      return fail(fmt::format("a node has room for {} pods here", options_.pods_max));
    case Room::node_spent:
      ++counters_.refused_node_bytes;
      return fail(fmt::format("what a node tells may take {} bytes here, and this is more",
                              options_.node_bytes_max));
    case Room::all_spent:
    case Room::there: break;
  }
  ++counters_.refused_bytes;
  return fail(fmt::format("what all nodes tell takes {} bytes already, which is the limit",
                          options_.bytes_max));
}

// ---- what is told

Book::Room Book::take_cards(Entry& entry, std::vector<codec::ReportedCard> cards, net::Moment now,
                            PageChange& change) {
  NodePage& page = entry.page;
  const std::size_t before = cost(page.cards);
  const std::size_t after = cost(cards);
  if (const Room left = room(entry, before, after); left != Room::there) return left;
  charge(entry, before, after);
  change.cards = cards != page.cards || page.cards_at == net::Moment{};
  page.cards = std::move(cards);
  page.cards_at = now;
  const std::size_t loads = page.load.size();
  drop_load_of_others(page);
  charge(entry, loads * kLoadBytes, page.load.size() * kLoadBytes);
  return Room::there;
}

// So little that it is counted and not refused.
void Book::take_load(Entry& entry, const std::vector<codec::ReportedLoad>& load, net::Moment now,
                     PageChange& change) {
  NodePage& page = entry.page;
  const std::size_t loads = page.load.size();
  for (const codec::ReportedLoad& each : load) {
    if (page.load.size() >= options_.cards_max && page.load.count(each.card) == 0) continue;
    change.load = true;
    page.load[each.card] = {.values = each, .at = now};
  }
  charge(entry, loads * kLoadBytes, page.load.size() * kLoadBytes);
}

void Book::drop_pod(Entry& entry, const std::string& name, PageChange& change) {
  const auto found = entry.page.pods.find(name);
  if (found == entry.page.pods.end()) return;
  charge(entry, cost(name, found->second), 0);
  entry.page.pods.erase(found);
  --counters_.pods;
  change.pods_gone.push_back(name);
}

Book::Room Book::put_pod(Entry& entry, const std::string& name, codec::ReportedPod pod,
                         PageChange& change) {
  auto& pods = entry.page.pods;
  const auto found = pods.find(name);
  const bool fresh = found == pods.end();
  if (!fresh && found->second == pod) return Room::there;
  if (fresh && pods.size() >= options_.pods_max) return Room::too_many_pods;
  const std::size_t before = fresh ? 0 : cost(name, found->second);
  const std::size_t after = cost(name, pod);
  if (const Room left = room(entry, before, after); left != Room::there) return left;
  const auto at = pods.insert_or_assign(name, std::move(pod)).first;
  charge(entry, before, cost(name, at->second));  // strings that are assigned to keep their room
  if (fresh) ++counters_.pods;
  change.pods_now.push_back(name);
  return Room::there;
}

Book::Room Book::take_pods(Entry& entry, codec::ReportedPods pods, PageChange& change) {
  NodePage& page = entry.page;
  std::map<std::string, codec::ReportedPod> now;
  for (codec::ReportedPod& pod : pods.now) {
    std::string name = name_of(pod);
    now.insert_or_assign(std::move(name), std::move(pod));
  }
  if (pods.all) {
    page.pods_known = true;
    std::vector<std::string> missing;
    for (const auto& [name, pod] : page.pods) {
      if (now.count(name) == 0) missing.push_back(name);
    }
    for (const std::string& name : missing) drop_pod(entry, name, change);
  }
  for (const std::string& name : pods.gone) {
    if (now.count(name) == 0) drop_pod(entry, name, change);
  }
  Room room = Room::there;
  for (auto& [name, pod] : now) {
    const Room left = put_pod(entry, name, std::move(pod), change);
    if (room == Room::there) room = left;
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
  bytes_ -= found->second.bytes;
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
  counters.bytes = bytes_;
  return counters;
}

}  // namespace stowage::reports
