// Preemption: the fewest, least important pods whose going really makes the pod fit. Decided by a
// dry run on the exact state of the node; the room is kept for the pod while they go.
#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "core/engine/body.h"
#include "core/engine/clearing.h"

namespace stowage::core {
namespace {

constexpr std::size_t kNodesToTry = 48;
constexpr std::size_t kOthersPerLook = 32;  // terms of others
constexpr std::size_t kPartsPerLook = 4;    // containers with cards
constexpr int kBudgetsPerNamespace = 32;    // that are heeded

std::int64_t footprint_of(const PodRecord& pod) {
  std::int64_t milli = std::int64_t{pod.unnamed.whole} * kMilliPerCard + pod.unnamed.shared_milli;
  for (const CardCharge& charge : pod.charges) milli += charge.milli;
  return milli;
}

}  // namespace

// A node that may do, by a quick look: what would have to go at the least.
struct Engine::Body::Prospect {
  std::int32_t top = 0;  // priority of the most important pod that has to go
  std::int32_t pods = 0;
  std::uint32_t rank = 0;
  NodeIndex node;
  [[nodiscard]] auto key() const { return std::tuple(top, pods, rank); }
};

// Asked again and again while a place for one pod is looked for.
bool Engine::Body::selects_pod(const Budget& budget, const Labels& labels) const {
  if (!selected_) return matches(budget.selector, labels);
  const auto [at, fresh] = selected_->try_emplace({&labels, &budget}, false);
  if (fresh) at->second = matches(budget.selector, labels);
  return at->second;
}

std::vector<std::uint8_t> Engine::Body::breaks_budget(const std::vector<PodIndex>& pods) const {
  std::vector<std::uint8_t> breaks(pods.size(), 0);
  std::map<const Budget*, std::int64_t> left;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodRecord& record = ledger_.pod(pods[i]);
    const Labels* labels = peers_.labels_of(pods[i]);
    if (labels == nullptr || labels->empty()) continue;
    const std::string_view ns = namespace_of(record.name);
    const std::string_view name = std::string_view(record.name).substr(ns.size() + 1);
    auto at = budgets_.lower_bound(std::string(ns) + '/');
    for (int look = 0; look < kBudgetsPerNamespace && at != budgets_.end(); ++look, ++at) {
      const Budget& budget = at->second;
      if (namespace_of(at->first) != ns) break;
      if (budget.selector.all.empty() || !selects_pod(budget, *labels)) continue;
      if (std::find(budget.disrupted.begin(), budget.disrupted.end(), name) !=
          budget.disrupted.end()) {
        continue;  // its going is counted already
      }
      if (--left.try_emplace(&budget, budget.allowed).first->second < 0) breaks[i] = 1;
    }
  }
  return breaks;
}

// Room that is kept for a less important pod is always to be had; pods only if that is wanted.
bool Engine::Body::may_evict(const PodSpec& pod, const PodRecord& other) const {
  if (other.state == PodState::room) return true;
  return options_.preemption && !pod.never_preempts && !other.stays &&
         other.state != PodState::reserved;
}

Engine::Body::OnNode Engine::Body::less_important(const PodSpec& pod, NodeIndex node) {
  OnNode found;
  for (const PodIndex there : ledger_.pods_on(node)) {
    const PodRecord& record = ledger_.pod(there);
    if (record.uid == pod.uid) continue;
    if (record.leaving) {
      found.leaving.push_back(there);
    } else if (record.priority < pod.priority && may_evict(pod, record)) {
      found.pods.push_back(there);
    }
  }
  // Who had better stay comes first: more important, then smaller (so that few have to go), then
  // older.
  std::sort(found.pods.begin(), found.pods.end(), [&](PodIndex a, PodIndex b) {
    const auto key = [&](PodIndex p) {
      const PodRecord& r = ledger_.pod(p);
      return std::tuple(r.state == PodState::room, -std::int64_t{r.priority}, footprint_of(r),
                        r.since, std::string_view(r.uid));
    };
    return key(a) < key(b);
  });
  const std::vector<std::uint8_t> breaks = breaks_budget(found.pods);
  std::vector<PodIndex> ordered;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < found.pods.size(); ++i) {
      if ((breaks[i] != 0) == wanted) ordered.push_back(found.pods[i]);
    }
  }
  found.pods = std::move(ordered);
  return found;
}

PodRecord Engine::Body::as_it_will_be(PodIndex pod) const {
  PodRecord record = ledger_.pod(pod);
  if (record.state != PodState::room) return record;
  for (const auto& [uid, room] : rooms_) {
    if (room.uid != record.uid) continue;
    record.resources = effective_resources(room.pod);
    if (!names_cards(room.target)) {
      record.unnamed.whole = unnamed_use(unnamed_asks(room.pod)).whole;
      break;
    }
    record.asks.clear();
    record.unnamed = {};
    record.charges = footprint(room.pod, room.target);
    std::erase_if(record.charges, [&](const CardCharge& charge) {
      return charge.card >= ledger_.state(record.node).cards;
    });
  }
  return record;
}

std::optional<Engine::Body::Clearing> Engine::Body::clear(const PodSpec& pod, const Shape& shape,
                                                          NodeIndex node,
                                                          const std::vector<PodIndex>& candidates,
                                                          const std::vector<PodIndex>& leaving) {
  const PolicyOptions any{.choice = {.node = NodePolicy::first, .card = CardPolicy::first}};
  std::vector<PodIndex> gone = candidates;
  gone.insert(gone.end(), leaving.begin(), leaving.end());
  std::vector<PodIndex> kept;  // rooms that stay: they count with all that they are to become
  for (const PodIndex other : ledger_.pods_on(node)) {
    if (ledger_.pod(other).state != PodState::room) continue;
    if (std::find(gone.begin(), gone.end(), other) == gone.end()) kept.push_back(other);
  }
  gone.insert(gone.end(), kept.begin(), kept.end());
  Ledger alone = ledger_.without(node, gone);
  const NodeIndex there = alone.find_node(ledger_.name(node));
  for (const PodIndex room : kept) alone.put(as_it_will_be(room), there);
  Placement placement;
  const auto has_room = [&] {
    const JudgeContext context{.ledger = &alone, .options = &any, .search = &search_};
    return judge(context, shape, there, &placement).reason.code == ReasonCode::none;
  };
  if (!has_room()) return std::nullopt;
  Clearing clearing{.node = node, .rank = ledger_.rank(node)};
  {
    Lifted lifted({.ledger = ledger_, .peers = peers_, .volumes = volumes_}, gone);
    const auto allowed = [&] {
      const Beyond more = beyond(pod);
      return more.trouble().empty() && more.check(node) == ReasonCode::none;
    };
    if (!allowed()) return std::nullopt;
    for (const PodIndex candidate : candidates) {
      const PodIndex back = alone.put(as_it_will_be(candidate), there);
      lifted.put_back(candidate);
      if (has_room() && allowed()) continue;
      if (search_.cut) return std::nullopt;  // it may not have to go
      alone.release(back);
      lifted.lift(candidate);
      clearing.victims.push_back(candidate);
    }
    if (!has_room()) {
      STOWAGE_CHECK(search_.cut);
      return std::nullopt;
    }
    clearing.cards = to_assignment(alone, shape, there, placement, pod.containers.size());
  }
  weigh(clearing);
  return clearing;
}

void Engine::Body::weigh(Clearing& clearing) const {
  constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
  clearing.top = std::numeric_limits<std::int32_t>::min();
  clearing.newest = kNever;
  const std::vector<std::uint8_t> breaks = breaks_budget(clearing.victims);
  for (std::size_t i = 0; i < clearing.victims.size(); ++i) {
    const PodRecord& record = ledger_.pod(clearing.victims[i]);
    if (record.state == PodState::room) continue;
    ++clearing.evictions;
    clearing.violations += breaks[i];
    clearing.sum += std::int64_t{record.priority} - std::numeric_limits<std::int32_t>::min();
    if (record.priority > clearing.top) clearing.newest = kNever;
    clearing.top = std::max(clearing.top, record.priority);
    if (record.priority == clearing.top) clearing.newest = std::min(clearing.newest, record.since);
  }
}

// Nodes on which something less important stands in the way, the most promising first.
std::vector<Engine::Body::Prospect> Engine::Body::prospects(const Attempt& attempt) {
  std::vector<Prospect> all;
  const Shape& shape = attempt.entry.shape;
  const Ranking& ranking = attempt.entry.ranking;
  std::vector<std::pair<std::int32_t, std::int64_t>> lower;  // priority and compute
  for (std::size_t n = 0; n < ranking.slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.present(node)) continue;
    const bool fits = ranking.feasible(node);
    const ReasonCode code = fits ? check(attempt, node) : ranking.reason(node).code;
    if (!curable(code)) continue;
    lower.clear();
    std::int64_t leaving = 0;
    for (const PodIndex pod : ledger_.pods_on(node)) {
      const PodRecord& record = ledger_.pod(pod);
      if (record.leaving) {
        leaving += footprint_of(record);
      } else if (record.priority < attempt.pod.priority && may_evict(attempt.pod, record)) {
        lower.emplace_back(record.priority, footprint_of(record));
      }
    }
    if (lower.empty()) continue;
    std::sort(lower.begin(), lower.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::int64_t free = leaving;
    for (const CardState& card : ledger_.cards(node)) free += card.milli_free;
    Prospect prospect{
        .top = lower.front().first, .pods = 1, .rank = ledger_.rank(node), .node = node};
    free += lower.front().second;
    for (std::size_t i = 1; i < lower.size() && free < shape.gpu_milli; ++i) {
      free += lower[i].second;
      prospect.top = lower[i].first;
      ++prospect.pods;
    }
    if (free >= shape.gpu_milli) all.push_back(prospect);
  }
  const auto few = all.begin() + static_cast<std::ptrdiff_t>(std::min(kNodesToTry, all.size()));
  std::partial_sort(all.begin(), few, all.end(),
                    [](const Prospect& a, const Prospect& b) { return a.key() < b.key(); });
  return all;
}

std::optional<Engine::Body::Clearing> Engine::Body::cheapest_clearing(Attempt& attempt) {
  std::optional<Clearing> best;
  std::size_t tried = 0;
  selected_.emplace();
  // A pod with long rules or many containers costs more to look at: it gets fewer looks.
  const std::size_t cost = static_cast<std::size_t>(Waiting::try_cost(attempt.pod)) +
                           attempt.beyond.others() / kOthersPerLook +
                           attempt.entry.shape.parts.size() / kPartsPerLook;
  const std::size_t nodes_to_try = std::max<std::size_t>(kNodesToTry / cost, 1);
  const std::size_t nodes_in_vain = (cost > 1 ? 2 : 8) * nodes_to_try;
  for (const Prospect& prospect : prospects(attempt)) {
    // Beyond the most promising ones, only until one is found.
    if (++tried > nodes_to_try && best) break;
    if (tried > nodes_in_vain) break;
    const OnNode others = less_important(attempt.pod, prospect.node);
    auto clearing =
        clear(attempt.pod, attempt.entry.shape, prospect.node, others.pods, others.leaving);
    if (clearing && (!best || clearing->price() < best->price())) best = std::move(clearing);
  }
  selected_.reset();
  return best;
}

bool Engine::Body::make_way(Attempt& attempt, Refusal& refusal) {
  const PodSpec& pod = attempt.pod;
  if (!attempt.beyond.trouble().empty()) return false;
  const bool anybody = options_.preemption && !pod.never_preempts && !priorities_.empty() &&
                       priorities_.begin()->first < pod.priority;
  const bool any_room = std::any_of(rooms_.begin(), rooms_.end(), [&](const auto& entry) {
    return entry.second.pod.priority < pod.priority;
  });
  if (!anybody && !any_room) return false;
  const auto own = rooms_.find(pod.uid);
  if (own != rooms_.end() && own->second.preempts && victims_pending(own->second)) {
    return false;  // they are on their way
  }
  const std::string key =
      group_key(attempt.asked, attempt.beyond.any()) + '!' + std::to_string(pod.priority);
  const std::uint64_t state = ledger_.change_count() + peers_.changes() + epoch_;
  if (fruitless_ == std::pair(key, state)) return false;
  const auto clearing = cheapest_clearing(attempt);
  if (!clearing) {
    fruitless_ = {key, ledger_.change_count() + peers_.changes() + epoch_};
    return false;
  }
  ++counters_.preemptions;
  Room room{.pod = attempt.asked,
            .node = ledger_.name(clearing->node),
            .target = clearing->cards,
            .victims = {},
            .until = {now_.ns + options_.preempt_room_ns},
            .preempts = true};
  std::vector<std::string> rooms_taken;
  for (const PodIndex victim : clearing->victims) {
    const PodRecord& record = ledger_.pod(victim);
    if (record.state == PodState::room) {
      for (const auto& [uid, other] : rooms_) {
        if (other.uid == record.uid) rooms_taken.push_back(uid);
      }
      continue;
    }
    room.victims.push_back(record.uid);
  }
  for (const auto& uid : rooms_taken) close_room(uid, true);
  const OnNode others = less_important(pod, clearing->node);
  if (room.victims.empty() && others.leaving.empty()) {  // only room that was kept for others
    attempt.prefer = room.node;
    attempt.beyond = beyond(pod);
    const Planner::Choice choice = choose(attempt);
    if (!choice.node.valid()) return false;
    settle(attempt, choice.node);
    return true;
  }
  for (const auto& uid : room.victims) {
    ledger_.set_leaving(ledger_.find_pod(uid), true);
    out_.emplace_back(Evict{.uid = uid, .by = pod.uid, .node = room.node});
  }
  counters_.evicted += room.victims.size();
  refusal.making_room_on = room.node;
  refusal.victims = static_cast<std::int32_t>(room.victims.size());
  open_room(std::move(room));
  return false;
}

void Engine::Body::on(const EvictFailed& e) {
  const PodIndex victim = ledger_.find_pod(e.uid);
  if (victim.valid()) ledger_.set_leaving(victim, false);
  std::vector<std::string> owners;
  for (const auto& [uid, room] : rooms_) {
    if (std::find(room.victims.begin(), room.victims.end(), e.uid) != room.victims.end()) {
      owners.push_back(uid);
    }
  }
  for (const auto& uid : owners) {
    const NodeIndex node = close_room(uid, true);
    if (node.valid()) wake(node);
  }
}

}  // namespace stowage::core
