#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "base/backoff.h"
#include "core/engine/body.h"
#include "core/model/limits.h"

namespace stowage::core {

namespace {

constexpr std::size_t kWishPlanners = 32;
constexpr std::size_t kWishKeys = std::size_t{1} << 20U;  // in the rankings of each
constexpr std::chrono::seconds kFirstRest{1};
constexpr std::chrono::seconds kLongestRest{10};

// A bind failed for the n-th time in a row: how long the pod rests before it is tried again.
base::Instant rest_until(base::Instant now, std::uint32_t failures) {
  return {now.ns + base::Backoff::nth(kFirstRest, kLongestRest, failures).count()};
}

Taint silence_taint(SilentNodes way) {
  return {.key = kSilentTaint,
          .value = "",
          .effect = way == SilentNodes::avoid ? TaintEffect::prefer_no_schedule
                                              : TaintEffect::no_schedule};
}

}  // namespace

Engine::Body::Body(std::vector<PolicyOptions> profiles, EngineOptions options)
    : options_(options), profiles_(profiles.size()) {
  for (auto& policy : profiles) {
    planners_.push_back(
        std::make_unique<Planner>(ledger_, std::move(policy), ShapeCache::kMaxKeys, &search_));
    heed_load(*planners_.back());
  }
}

Commands Engine::Body::handle(const Event& event, base::Instant now) {
  forget_planners();
  begin(now);
  for (const std::string& node : loads_.expire(now_)) refresh_load(node);
  go_on();
  std::visit([this](const auto& e) { on(e); }, event);
  if (may_help_beyond()) run_or_defer({.kind = Step::Kind::beyond});
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
  counters.rooms = nominations_.all().size();
  counters.rooms_opened = nominations_.opened();
  counters.by_others = waiting_.due().size();
  counters.loads = loads_.size();
  return counters;
}

std::vector<std::string> Engine::Body::audit() {
  std::vector<std::string> wrong = ledger_.audit();
  for (auto& line : peers_.audit()) wrong.push_back(std::move(line));
  return wrong;
}

std::string Engine::Body::record_decision(const PodSpec& pod) {
  search_ = {.left = options_.search_per_event};
  const Beyond more = beyond(pod);
  Planner::Heed heed;
  if (more.any()) {
    heed.allowed = [&](NodeIndex node) {
      return more.trouble().empty() && more.check(node) == ReasonCode::none;
    };
  }
  return to_text(planner_of(pod).record(pod, heed));
}

Result<Commands> Engine::Body::replay(const DecisionRecord& record) {
  search_ = {.left = options_.search_per_event};
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
  const auto [at, fresh] = wish_planners_.try_emplace(key, WishPlanner{.at = planners_.size()});
  if (fresh) {
    planners_.push_back(
        std::make_unique<Planner>(ledger_, std::move(options), kWishKeys, &search_));
    heed_load(*planners_.back());
  }
  at->second.asked = ++wishes_;
  return *planners_[at->second.at];
}

void Engine::Body::forget_planners() {
  while (planners_.size() > profiles_ + kWishPlanners) {
    const auto oldest = std::min_element(
        wish_planners_.begin(), wish_planners_.end(),
        [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; });
    const std::size_t gap = oldest->second.at;
    wish_planners_.erase(oldest);
    planners_[gap] = std::move(planners_.back());
    planners_.pop_back();
    for (auto& [key, wish] : wish_planners_) {
      if (wish.at == planners_.size()) wish.at = gap;
    }
  }
}

const PodSpec& Engine::Body::bounded(const PodSpec& pod, PodSpec& scratch) const {
  if (!quotas_.limits(pod.name)) return pod;
  scratch = pod;
  scratch.bounds = quotas_.bounds(pod);
  return scratch;
}

std::vector<Engine::NodeVerdict> Engine::Body::explain(const PodSpec& unbounded) {
  search_ = {.left = options_.search_per_event};
  PodSpec scratch;
  const PodSpec& pod = bounded(unbounded, scratch);
  const Shape shape = make_shape(pod, ledger_);
  const Beyond more = beyond(pod);
  std::vector<NodeVerdict> verdicts;
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.present(node)) continue;
    Reason reason = planner_of(pod).verdict(shape, node);
    if (reason.code == ReasonCode::none) {
      reason.code = more.trouble().empty() ? more.check(node) : ReasonCode::claim;
    }
    verdicts.push_back({ledger_.spec(node).name, reason});
  }
  return verdicts;
}

void Engine::Body::on(const NodeChanged& e) {
  if (!silent_.contains(e.node.name)) return node_changed(e.node);
  NodeSpec tainted = e.node;
  tainted.taints.push_back(silence_taint(options_.silent_nodes));
  node_changed(tainted);
}

void Engine::Body::on(const NodeSilent& e) {
  if (options_.silent_nodes == SilentNodes::use) return;
  const bool changes = e.silent ? silent_.insert(e.node).second : silent_.erase(e.node) > 0;
  const NodeIndex node = ledger_.find_node(e.node);
  if (!changes || !node.valid() || !ledger_.present(node)) return;
  NodeSpec spec = ledger_.spec(node);
  std::erase_if(spec.taints, [](const Taint& taint) { return taint.key == kSilentTaint; });
  if (e.silent) spec.taints.push_back(silence_taint(options_.silent_nodes));
  node_changed(spec);
}

void Engine::Body::node_changed(const NodeSpec& spec) {
  if (auto valid = validate(spec); !valid) return reject(spec.name, valid.error().message);
  const NodeIndex known = ledger_.find_node(spec.name);
  const NodeSpec* was = known.valid() && ledger_.present(known) ? &ledger_.spec(known) : nullptr;
  const bool moved = was == nullptr || was->labels != spec.labels || was->taints != spec.taints;
  if (was != nullptr && was->cards != spec.cards) close_nominations(spec.name);
  const NodeIndex node = ledger_.upsert_node(spec);
  refresh_load(spec.name);
  if (moved) {
    peers_.nodes_changed();
    ++epoch_;
  }
  quotas_.node_changed(node, ledger_);
  if (was == nullptr && leads_) settle_conflicts(node);
  wake(node);
}

void Engine::Body::close_nominations(const std::string& node) {
  for (const auto& uid : nominations_.on_node(node)) nominations_.close(uid, out_);
}

void Engine::Body::on(const QuotaChanged& e) {
  quotas_.set(e.quotas, ledger_);
  run_or_defer({.kind = Step::Kind::parked});
}

void Engine::Body::on(const NodeGone& e) {
  close_nominations(e.name);
  loads_.forget(e.name);
  ledger_.remove_node(e.name);
  quotas_.node_gone(e.name, ledger_);
  peers_.nodes_changed();
  ++epoch_;
}

// Everything that a pod may get wrong, in words.
Status Engine::Body::acceptable(const PodSpec& pod) const {
  STOWAGE_TRY_VOID(validate(pod));
  if (pod.profile >= profiles_) return fail("pod " + pod.name + " has an unknown profile");
  return {};
}

void Engine::Body::on(const PodPending& e) {
  if (auto fine = acceptable(e.pod); !fine) return reject(e.pod.uid, fine.error().message);
  if (auto few = within_limits(e.pod); !few) return reject(e.pod.uid, few.error().message);
  if (ledger_.find_pod(e.pod.uid).valid()) return;   // placed already
  const auto came = waiting_.arrival_of(e.pod.uid);  // set: it waits, and keeps its place
  const auto rests_until = waiting_.rests_until(e.pod.uid);
  if (came) waiting_.remove(e.pod.uid);
  if (rests_until) return waiting_.rest(e.pod, *came, *rests_until);
  const NodeIndex left =
      nominations_.close(e.pod.uid, out_);  // it was for what the pod wanted before
  place(e.pod, came ? *came : arrivals_++, came ? Try::again : Try::first);
  if (left.valid()) wake(left);
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
  refused_at_.erase(e.pod.uid);
  const NodeIndex room = nominations_.close(e.pod.uid);
  const PodIndex known = ledger_.find_pod(e.pod.uid);
  const NodeIndex was_on = known.valid() ? ledger_.pod(known).node : NodeIndex{};
  const std::uint64_t changes = ledger_.change_count();
  if (known.valid()) unseat(known);
  const PodIndex pod = seen_bound(e);
  quotas_.charge(pod, ledger_);
  seat(pod, e.pod);
  const bool placed_now = e.placed != 0 && ledger_.pod(pod).placed == 0;
  ledger_.set_placed(pod, e.placed, e.placed_by_then);
  if (placed_now && leads_) settle_conflicts(ledger_.pod(pod).node);
  if (!known.valid()) {  // after a restart this is how the policies learn what runs
    for (std::size_t i = 0; i < profiles_; ++i) {
      Planner& planner = *planners_[i];
      if (!planner.learns()) continue;
      planner.accepted(pod, planner.arrived(planner.entry_for(e.pod), Try::first));
    }
  }
  if (room.valid()) wake(room);
  if (ledger_.change_count() == changes) return;
  // It may hold less than we thought, or be elsewhere. And where it is known to be, no pod can be
  // that has whole cards which nobody has named.
  const NodeIndex is_on = ledger_.pod(pod).node;
  const bool clearer = ledger_.state(is_on).unnamed;
  if (known.valid()) wake(was_on);
  if (clearer && is_on != was_on) wake(is_on);
}

Positions Engine::Body::positions_on(const std::string& node, const NamedAssignment& cards) const {
  const NodeIndex at = ledger_.find_node(node);
  return find_positions(cards, at.valid() ? ledger_.spec(at) : NodeSpec{.name = node});
}

PodIndex Engine::Body::seen_bound(const PodSeenBound& e) {
  if (!e.cards) return ledger_.seen_bound(e.pod, e.node, std::nullopt);
  const Positions at = positions_on(e.node, *e.cards);
  return ledger_.seen_bound(e.pod, e.node, at.cards, at.absent);
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
  conflicts_.erase(e.uid);
  failures_.erase(e.uid);
  refused_at_.erase(e.uid);
  forget_guest(e.uid);
  const NodeIndex room = nominations_.close(e.uid);
  if (room.valid()) wake(room);
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
  expire_rooms();
  if (waiting_.resting() > 0) run_or_defer({.kind = Step::Kind::rested});
  if (e.parked) run_or_defer({.kind = Step::Kind::some});
  run_or_defer({.kind = Step::Kind::starving});
}

// Nobody waits any more when places are given back, so nobody is woken.
void Engine::Body::on(const StandDown& /*unused*/) {
  leads_ = false;
  conflicts_.clear();
  for (const std::string& node : loads_.nodes()) {  // agents tell another one from now on
    loads_.forget(node);
    refresh_load(node);
  }
  waiting_ = {};
  agenda_.clear();
  failures_.clear();
  refused_at_.clear();
  while (!nominations_.empty()) nominations_.close(std::string(nominations_.all().begin()->first));
  std::set<std::string> unsettled;
  for (const auto& [uid, binding] : binding_) unsettled.insert(uid);
  binding_.clear();
  for (const std::string& uid : unsettled) {
    const PodIndex pod = ledger_.find_pod(uid);
    if (pod.valid()) (void)release(pod);
  }
  unsettled.clear();
  for (const auto& [uid, guest] : guests_) unsettled.insert(uid);
  for (const std::string& uid : unsettled) (void)let_go(uid);
}

// What is known to be used is less than what might have been: there may be room for others.
void Engine::Body::on(const CardsNamed& e) {
  const PodSpec pod{.uid = e.uid, .name = e.uid, .containers = e.containers};
  if (auto valid = validate(pod, std::optional(e.cards)); !valid) {
    return reject(e.uid, valid.error().message);
  }
  const PodIndex known = ledger_.find_pod(e.uid);
  if (!known.valid()) return;
  const NodeIndex node = ledger_.pod(known).node;
  if (!ledger_.present(node) || ledger_.name(node) != e.node) return;
  const auto cards = by_position(e.cards, ledger_.spec(node));
  if (!cards || !ledger_.name_cards(known, footprint(pod, *cards))) return;
  quotas_.charge(known, ledger_);
  const std::string name = ledger_.pod(known).name;
  wake(node);
  wake_namespace(name);
}

// Nobody is woken: how busy a card is decides where a pod goes, not whether it fits.
void Engine::Body::on(const CardsMeasured& e) {
  loads_.measured(e);
  refresh_load(e.node);
}

void Engine::Body::heed_load(const Planner& planner) {
  const PolicyChoice choice = planner.options().choice;
  if (choice.node != NodePolicy::load && choice.card != CardPolicy::load) return;
  if (std::exchange(load_heeded_, true)) return;
  for (const std::string& node : loads_.nodes()) refresh_load(node);
}

void Engine::Body::refresh_load(const std::string& name) {
  const NodeIndex node = ledger_.find_node(name);
  if (node.valid() && ledger_.present(node)) {
    ledger_.set_busy(node, loads_.busy(ledger_.spec(node)), load_heeded_);
  }
}

void Engine::Body::expect_load(PodIndex placed) {
  if (!load_heeded_) return;
  const PodRecord& pod = ledger_.pod(placed);
  const NodeSpec& node = ledger_.spec(pod.node);
  const base::Instant until{now_.ns + options_.load_settles_ns};
  for (const CardCharge& charge : pod.charges) {
    const auto milli = static_cast<std::int32_t>(
        charge.milli == 0 ? kMilliPerCard : std::min<std::int64_t>(charge.milli, kMilliPerCard));
    loads_.placed(node.name, node.cards[charge.card].id, milli, until);
  }
  if (!pod.charges.empty()) refresh_load(node.name);
}

void Engine::Body::reject(const std::string& subject, std::string why) {
  out_.emplace_back(Reject{.subject = subject, .why = std::move(why)});
}

Engine::Engine(PolicyOptions options) : Engine(std::vector<PolicyOptions>{std::move(options)}) {}
Engine::Engine(std::vector<PolicyOptions> profiles, EngineOptions options)
    : body_(std::make_unique<Body>(std::move(profiles), options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant now) { return body_->handle(event, now); }
bool Engine::unfinished() const { return body_->unfinished(); }
Commands Engine::handle_all(const Event& event, base::Instant now) {
  Commands all = handle(event, now);
  while (unfinished()) {
    Commands more = handle(Continue{}, now);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}
FilterAnswer Engine::filter(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->filter(ask, now, out);
}
ScoreAnswer Engine::score(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->score(ask, now, out);
}
ClaimAnswer Engine::claim(const ClaimAsk& ask, base::Instant now, Commands& out) {
  return body_->claim(ask, now, out);
}
bool Engine::holds(const std::string& uid, const Place& place) const {
  return body_->holds(uid, place);
}
bool Engine::fits_somewhere(const PodSpec& pod) { return body_->fits_somewhere(pod); }
PreemptAnswer Engine::preempt(const PreemptAsk& ask) { return body_->preempt(ask); }
const Ledger& Engine::ledger() const { return body_->ledger(); }
std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& pod) { return body_->explain(pod); }
std::vector<std::string> Engine::audit() { return body_->audit(); }
Engine::Counters Engine::counters() const { return body_->counters(); }
std::string Engine::record_decision(const PodSpec& pod) { return body_->record_decision(pod); }
Result<Commands> Engine::replay(const DecisionRecord& record) { return body_->replay(record); }

}  // namespace stowage::core
