#include "core/engine/engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/body.h"

namespace stowage::core {

Commands Engine::Body::handle(const Event& event) {
  out_.clear();
  std::visit([this](const auto& e) { on(e); }, event);
  return std::exchange(out_, {});
}

Engine::Counters Engine::Body::counters() const {
  Counters counters = counters_;
  counters.nodes_judged = cache_.judged();
  counters.waiting = waiting_.size();
  counters.shapes = cache_.size();
  return counters;
}

std::vector<Engine::NodeVerdict> Engine::Body::explain(const PodSpec& pod) {
  const Shape shape = make_shape(pod, ledger_);
  std::vector<NodeVerdict> verdicts;
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.present(node)) continue;
    verdicts.push_back({ledger_.spec(node).name, judge(context(), shape, node).reason});
  }
  return verdicts;
}

void Engine::Body::on(const NodeChanged& e) {
  if (auto valid = validate(e.node); !valid) return reject(e.node.name, valid.error().message);
  wake(ledger_.upsert_node(e.node));
}

void Engine::Body::on(const NodeGone& e) { ledger_.remove_node(e.name); }

void Engine::Body::on(const PodPending& e) {
  if (auto valid = validate(e.pod); !valid) return reject(e.pod.uid, valid.error().message);
  if (ledger_.find_pod(e.pod.uid).valid()) return;   // placed already
  const auto came = waiting_.arrival_of(e.pod.uid);  // set: it is parked, and keeps its place
  if (came) waiting_.remove(e.pod.uid);
  place(e.pod, came ? *came : arrivals_++, came ? Try::again : Try::first);
}

void Engine::Body::on(const PodSeenBound& e) {
  if (auto valid = validate(e.pod); !valid) return reject(e.pod.uid, valid.error().message);
  if (auto valid = validate(e.pod, e.cards); !valid) {
    return reject(e.pod.uid, valid.error().message);
  }
  waiting_.remove(e.pod.uid);
  binding_.erase(e.pod.uid);
  const PodIndex known = ledger_.find_pod(e.pod.uid);
  const NodeIndex was_on = known.valid() ? ledger_.pod(known).node : NodeIndex{};
  const std::uint64_t changes = ledger_.change_count();
  const PodIndex pod = ledger_.seen_bound(e.pod, e.node, e.cards);
  if (!known.valid() && learns_) {  // after a restart this is how the policy learns what runs
    const Shape shape = make_shape(e.pod, ledger_);
    note_accepted(pod, learner_.arrived(shape, ledger_));
    learn();
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
}

void Engine::Body::on(const BindFailed& e) {
  const auto found = binding_.find(e.uid);
  if (found == binding_.end()) return;
  const Binding failed = std::move(found->second);
  binding_.erase(found);
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  const NodeIndex node = release(pod);
  wake(node);  // others first: this pod would only fail again
  std::string key;
  append_shape_key(failed.pod, key);
  waiting_.park(key, failed.pod, failed.arrival);
}

void Engine::Body::on(const PodGone& e) {
  if (waiting_.remove(e.uid)) return;
  binding_.erase(e.uid);
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (pod.valid()) wake(release(pod));
}

void Engine::Body::on(const Tick& /*unused*/) { try_parked({}); }

void Engine::Body::reject(const std::string& subject, std::string why) {
  out_.emplace_back(Reject{.subject = subject, .why = std::move(why)});
}

NodeIndex Engine::Body::release(PodIndex pod) {
  const NodeIndex node = ledger_.pod(pod).node;
  if (pod.at() < kind_of_pod_.size() && kind_of_pod_[pod.at()] != kNoKind) {
    const std::uint32_t kind = std::exchange(kind_of_pod_[pod.at()], kNoKind);
    learner_.departed(kind);
    blocks_.departed(kind);
  }
  ledger_.release(pod);
  return node;
}

void Engine::Body::wake(NodeIndex node) {
  if (!waiting_.groups().empty() && ledger_.present(node)) try_parked(node);
}

void Engine::Body::try_parked(NodeIndex node) {
  const auto could_fit = [&](const Waiting::Group& group) {
    return !node.valid() || fits_on(group.begin()->second, node);
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

bool Engine::Body::fits_on(const PodSpec& pod, NodeIndex node) {
  ShapeCache::Entry& entry = entry_for(pod);
  entry.shape.learn_models(ledger_);
  return judge(context(), entry.shape, node).reason.code == ReasonCode::none;
}

bool Engine::Body::try_first(const std::string& shape_key) {
  const auto group = waiting_.groups().find(shape_key);
  const std::uint64_t arrival = group->second.begin()->first.arrival;
  const PodSpec pod = group->second.begin()->second;
  waiting_.remove(pod.uid);
  return place(pod, arrival, Try::again);
}

Engine::Engine(PolicyOptions options) : body_(std::make_unique<Body>(std::move(options))) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant /*now*/) { return body_->handle(event); }
const Ledger& Engine::ledger() const { return body_->ledger(); }
std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& pod) { return body_->explain(pod); }
Engine::Counters Engine::counters() const { return body_->counters(); }
std::string Engine::record_decision(const PodSpec& pod) { return body_->record_decision(pod); }
Result<Commands> Engine::replay(const DecisionRecord& record) { return body_->replay(record); }

}  // namespace stowage::core
