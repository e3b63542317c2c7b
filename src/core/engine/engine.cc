#include "core/engine/engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/body.h"

namespace stowage::core {

namespace {

constexpr std::int64_t kFirstRestNs = 1'000'000'000;
constexpr std::uint32_t kMostDoublings = 3;
constexpr std::int64_t kLongestRestNs = 10 * kFirstRestNs;

// A bind failed for the n-th time in a row: how long the pod rests before it is tried again.
base::Instant rest_until(base::Instant now, std::uint32_t failures) {
  if (failures > kMostDoublings + 1) return {now.ns + kLongestRestNs};
  return {now.ns + (kFirstRestNs << (failures - 1))};
}

}  // namespace

Engine::Body::Body(std::vector<PolicyOptions> profiles) : profiles_(profiles.size()) {
  for (auto& options : profiles) {
    planners_.push_back(std::make_unique<Planner>(ledger_, std::move(options)));
  }
}

Commands Engine::Body::handle(const Event& event, base::Instant now) {
  out_.clear();
  now_ = now;
  std::visit([this](const auto& e) { on(e); }, event);
  return std::exchange(out_, {});
}

Engine::Counters Engine::Body::counters() const {
  Counters counters = counters_;
  for (const auto& planner : planners_) {
    counters.nodes_judged += planner->judged();
    counters.shapes += planner->shapes();
    counters.models_learned += planner->models_learned();
  }
  counters.waiting = waiting_.size();
  counters.resting = waiting_.resting();
  counters.binding = binding_.size();
  counters.held = guests_.size();
  return counters;
}

std::string Engine::Body::record_decision(const PodSpec& pod) {
  return to_text(planner_of(pod).record(pod));
}

Result<Commands> Engine::Body::replay(const DecisionRecord& record) {
  return planners_.front()->replay(record);
}

Planner& Engine::Body::planner_of(const PodSpec& pod) {
  Planner& own = *planners_[pod.profile];
  if (!pod.wish.any()) return own;
  PolicyOptions options = own.options();
  options.choice.node = pod.wish.node.value_or(options.choice.node);
  options.choice.card = pod.wish.card.value_or(options.choice.card);
  options.profile_weights = options.profile_weights || pod.wish.weighted;
  if (options.choice == own.options().choice &&
      options.profile_weights == own.options().profile_weights) {
    return own;
  }
  const WishKey key{pod.profile, options.choice.node, options.choice.card, options.profile_weights};
  const auto [at, fresh] = wish_planners_.emplace(key, planners_.size());
  if (fresh) planners_.push_back(std::make_unique<Planner>(ledger_, std::move(options)));
  return *planners_[at->second];
}

const PodSpec& Engine::Body::bounded(const PodSpec& pod, PodSpec& scratch) const {
  if (!quotas_.limits(pod.name)) return pod;
  scratch = pod;
  scratch.bounds = quotas_.bounds(pod);
  return scratch;
}

std::vector<Engine::NodeVerdict> Engine::Body::explain(const PodSpec& unbounded) {
  PodSpec scratch;
  const PodSpec& pod = bounded(unbounded, scratch);
  const Shape shape = make_shape(pod, ledger_);
  std::vector<NodeVerdict> verdicts;
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.present(node)) continue;
    verdicts.push_back({ledger_.spec(node).name, planner_of(pod).verdict(shape, node)});
  }
  return verdicts;
}

void Engine::Body::on(const NodeChanged& e) {
  if (auto valid = validate(e.node); !valid) return reject(e.node.name, valid.error().message);
  const NodeIndex node = ledger_.upsert_node(e.node);
  quotas_.node_changed(node, ledger_);
  wake(node);
}

void Engine::Body::on(const QuotaChanged& e) {
  quotas_.set(e.quotas, ledger_);
  try_parked({});
}

void Engine::Body::on(const NodeGone& e) { ledger_.remove_node(e.name); }

// Everything that a pod may get wrong, in words.
Status Engine::Body::acceptable(const PodSpec& pod) const {
  STOWAGE_TRY_VOID(validate(pod));
  if (pod.profile >= profiles_) return fail("pod " + pod.name + " has an unknown profile");
  return {};
}

void Engine::Body::on(const PodPending& e) {
  if (auto fine = acceptable(e.pod); !fine) return reject(e.pod.uid, fine.error().message);
  if (ledger_.find_pod(e.pod.uid).valid()) return;   // placed already
  const auto came = waiting_.arrival_of(e.pod.uid);  // set: it waits, and keeps its place
  const auto rests_until = waiting_.rests_until(e.pod.uid);
  if (came) waiting_.remove(e.pod.uid);
  if (rests_until) return waiting_.rest(e.pod, *came, *rests_until);
  place(e.pod, came ? *came : arrivals_++, came ? Try::again : Try::first);
}

void Engine::Body::on(const PodSeenBound& e) {
  if (auto fine = acceptable(e.pod); !fine) return reject(e.pod.uid, fine.error().message);
  if (auto valid = validate(e.pod, e.cards); !valid) {
    return reject(e.pod.uid, valid.error().message);
  }
  waiting_.remove(e.pod.uid);
  binding_.erase(e.pod.uid);
  failures_.erase(e.pod.uid);
  forget_guest(e.pod.uid);
  const PodIndex known = ledger_.find_pod(e.pod.uid);
  const NodeIndex was_on = known.valid() ? ledger_.pod(known).node : NodeIndex{};
  const std::uint64_t changes = ledger_.change_count();
  if (known.valid()) quotas_.release(known);
  const PodIndex pod = ledger_.seen_bound(e.pod, e.node, e.cards);
  quotas_.charge(pod, ledger_);
  if (!known.valid()) {  // after a restart this is how the policies learn what runs
    for (std::size_t i = 0; i < profiles_; ++i) {
      Planner& planner = *planners_[i];
      if (!planner.learns()) continue;
      planner.accepted(pod, planner.arrived(planner.entry_for(e.pod), Try::first));
    }
  }
  if (ledger_.change_count() == changes) return;
  // It may hold less than we thought, or be elsewhere. And where it is known to be, no pod can be
  // that has whole cards which nobody has named.
  const NodeIndex is_on = ledger_.pod(pod).node;
  const auto on_node = ledger_.pods_on(is_on);
  const bool clearer = std::any_of(on_node.begin(), on_node.end(), [&](PodIndex other) {
    return ledger_.pod(other).state == PodState::bound_cards_unknown;
  });
  if (known.valid()) wake(was_on);
  if (clearer && is_on != was_on) wake(is_on);
}

void Engine::Body::on(const BindDone& e) {
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  ledger_.confirm(pod);
  binding_.erase(e.uid);
  failures_.erase(e.uid);
  forget_guest(e.uid);
}

void Engine::Body::on(const BindFailed& e) {
  if (const auto guest = guests_.find(e.uid); guest != guests_.end()) {
    const std::string name = guest->second.pod.name;
    return wake_after(let_go(e.uid), name);
  }
  const auto found = binding_.find(e.uid);
  if (found == binding_.end()) return;
  const Binding failed = std::move(found->second);
  binding_.erase(found);
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  wake(release(pod));
  wake_namespace(failed.pod.name);
  waiting_.rest(failed.pod, failed.arrival, rest_until(now_, ++failures_[e.uid]));
}

void Engine::Body::on(const PodGone& e) {
  failures_.erase(e.uid);
  forget_guest(e.uid);
  if (waiting_.remove(e.uid)) return;
  binding_.erase(e.uid);
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  const std::string name = ledger_.pod(pod).name;
  wake(release(pod));
  wake_namespace(name);
}

void Engine::Body::on(const Tick& e) {
  expire_holds();
  try_rested();
  if (e.parked) try_parked({});
}

void Engine::Body::reject(const std::string& subject, std::string why) {
  out_.emplace_back(Reject{.subject = subject, .why = std::move(why)});
}

bool Engine::Body::place(const PodSpec& asked, std::uint64_t arrival, Try which) {
  PodSpec scratch;
  const PodSpec& pod = bounded(asked, scratch);
  Planner& planner = planner_of(pod);
  Planner::Entry& entry = planner.entry_for(pod);
  const std::uint32_t kind = planner.arrived(entry, which);
  ++counters_.decisions;
  const Planner::Choice choice = planner.choose(entry, kind);
  PodIndex placed;
  if (choice.node.valid()) {
    Assignment cards = planner.cards_on(pod, entry, choice.node);
    placed = ledger_.reserve(pod, choice.node, cards);
    quotas_.charge(placed, ledger_);
    planner.accepted(placed, kind);
    binding_.emplace(pod.uid, Binding{.pod = asked, .arrival = arrival});
    ++counters_.bound;
    out_.emplace_back(
        Bind{.uid = pod.uid, .node = ledger_.spec(choice.node).name, .cards = std::move(cards)});
  } else {
    ++counters_.refused;
    if (choice.held_back) ++counters_.held_back;
    if (which == Try::first) {
      out_.emplace_back(
          Refuse{.uid = pod.uid, .refusal = planner.refusal(entry, choice.held_back)});
      planner.refused(kind);
    }
    park(asked, arrival);
  }
  teach_others(pod, placed, which);
  planner.work();
  return choice.node.valid();
}

// Demand is one: the planners of other profiles learn of this pod as well. Those of wishes, of
// which pods can make as many as there are policies, learn from their own pods alone.
void Engine::Body::teach_others(const PodSpec& pod, PodIndex placed, Try which) {
  if (planners_.size() == 1) return;
  const Planner* own = &planner_of(pod);
  for (std::size_t i = 0; i < profiles_; ++i) {
    Planner& planner = *planners_[i];
    if (&planner == own || !planner.learns()) continue;
    const std::uint32_t kind = planner.arrived(planner.entry_for(pod), which);
    if (placed.valid()) planner.accepted(placed, kind);
  }
}

void Engine::Body::park(const PodSpec& pod, std::uint64_t arrival) {
  std::string group;
  append_shape_key(pod, group);
  group += '@';
  group += std::to_string(pod.profile);
  if (pod.wish.any()) {
    group += '/' + std::to_string(static_cast<int>(planner_of(pod).options().choice.node)) + '/' +
             std::to_string(static_cast<int>(planner_of(pod).options().choice.card));
  }
  if (quotas_.limits(pod.name)) group += '#' + std::string(namespace_of(pod.name));
  waiting_.park(group, pod, arrival);
}

NodeIndex Engine::Body::release(PodIndex pod) {
  const NodeIndex node = ledger_.pod(pod).node;
  for (auto& planner : planners_) planner->departed(pod);
  quotas_.release(pod);
  ledger_.release(pod);
  return node;
}

void Engine::Body::wake_namespace(const std::string& pod_name) {
  if (quotas_.limits(pod_name) && !waiting_.groups().empty()) try_parked({});
}

void Engine::Body::wake(NodeIndex node) {
  if (!waiting_.groups().empty() && ledger_.present(node)) try_parked(node);
}

void Engine::Body::try_parked(NodeIndex node) {
  const auto could_fit = [&](const Waiting::Group& group) {
    const PodSpec& pod = group.begin()->second;
    return !node.valid() || planner_of(pod).fits_on(pod, node);
  };
  std::map<Waiting::Place, std::string> line;  // the first of each group, and its key
  for (const auto& [key, group] : waiting_.groups()) {
    if (could_fit(group)) line.emplace(group.begin()->first, key);
  }
  while (!line.empty()) {
    const std::string key = std::move(line.begin()->second);
    line.erase(line.begin());
    // Others may have taken the room, or it is kept for others: then the next group has its turn.
    if (!could_fit(waiting_.groups().at(key)) || !try_first(key)) continue;
    const auto group = waiting_.groups().find(key);
    if (group != waiting_.groups().end()) line.emplace(group->second.begin()->first, key);
  }
}

void Engine::Body::try_rested() {
  while (auto rested = waiting_.take_rested(now_)) {
    place(rested->pod, rested->arrival, Try::again);
  }
}

bool Engine::Body::try_first(const std::string& group_key) {
  const auto group = waiting_.groups().find(group_key);
  const std::uint64_t arrival = group->second.begin()->first.arrival;
  const PodSpec pod = group->second.begin()->second;
  waiting_.remove(pod.uid);
  return place(pod, arrival, Try::again);
}

Engine::Engine(PolicyOptions options)
    : body_(std::make_unique<Body>(std::vector<PolicyOptions>{std::move(options)})) {}
Engine::Engine(std::vector<PolicyOptions> profiles)
    : body_(std::make_unique<Body>(std::move(profiles))) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant now) { return body_->handle(event, now); }
FilterAnswer Engine::filter(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->filter(ask, now, out);
}
Scores Engine::score(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->score(ask, now, out);
}
ClaimAnswer Engine::claim(const ClaimAsk& ask, base::Instant now, Commands& out) {
  return body_->claim(ask, now, out);
}
bool Engine::fits_somewhere(const PodSpec& pod) { return body_->fits_somewhere(pod); }
PreemptAnswer Engine::preempt(const PreemptAsk& ask) { return body_->preempt(ask); }
const Ledger& Engine::ledger() const { return body_->ledger(); }
std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& pod) { return body_->explain(pod); }
Engine::Counters Engine::counters() const { return body_->counters(); }
std::string Engine::record_decision(const PodSpec& pod) { return body_->record_decision(pod); }
Result<Commands> Engine::replay(const DecisionRecord& record) { return body_->replay(record); }

}  // namespace stowage::core
