#include "kubelet.h"

#include <utility>

#include <fmt/format.h>

namespace stowage::faults {
namespace {

using local::Kind;
using local::Part;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kEvery{500};
constexpr seconds kStarts{1};
constexpr seconds kGarbage{15};  // pods of a node that has gone
constexpr milliseconds kReplacedAfter{700};
constexpr std::uint32_t kReplacements = 4;  // a real Deployment never stops

}  // namespace

Kubelets::Kubelets(const Deps& deps)
    : deps_(deps), process_(deps.side.world().start()), rng_(deps.plan.seed + 99) {
  look();
}

Kubelets::~Kubelets() { deps_.side.world().kill(process_); }

void Kubelets::set_phase(const local::ObjectName& pod, std::string_view phase,
                         const std::string& reason) {
  (void)deps_.side.api().update(Kind::pod, pod, Part::status,
                                [&](json::object& tree) -> local::ApiResult<bool> {
                                  json::object& status = local::make_object(tree, "status");
                                  status["phase"] = phase;
                                  if (!reason.empty()) status["reason"] = reason;
                                  return true;
                                });
}

void Kubelets::finish(const local::ObjectName& pod) {
  const local::ObjectPtr object = deps_.side.store().get(Kind::pod, pod);
  if (object != nullptr) deps_.witness.changed(view_of(*object).app);
  set_phase(pod, "Succeeded", "");
}

void Kubelets::remove(const PodView& pod) {
  deps_.witness.changed(pod.app);
  local::DeleteOptions at_once;
  at_once.grace_seconds = 0;
  (void)deps_.side.api().remove(Kind::pod, pod.name, at_once);
}

void Kubelets::look() {
  for (const PodView* pod : deps_.views.pods()) {
    if (!pod->node.empty()) look_after(*pod, known_[pod->uid]);
  }
  deps_.side.world().after(process_, kEvery, [this] { look(); });
}

// The resource that is exhausted; empty: none.
std::string Kubelets::short_of(const PodView& pod, const NodeView& node) {
  for (const auto& [resource, asked] : pod.asks) {
    const auto offered = node.offers.find(resource);
    if (offered == node.offers.end()) continue;  // no device plugin on this node manages it
    std::int64_t sum = asked;
    for (const PodView* other : deps_.views.pods()) {
      if (other->node != node.name || other->ended()) continue;
      const auto known = known_.find(other->uid);
      const auto has = other->asks.find(resource);
      if (known == known_.end() || !known->second.admitted || has == other->asks.end()) continue;
      sum += has->second;
    }
    if (sum > offered->second) return resource;
  }
  return {};
}

void Kubelets::refuse(const PodView& pod, const std::string& resource) {
  deps_.checks.refused(pod, resource);
  deps_.witness.changed(pod.app);
  set_phase(pod.name, "Failed", "OutOf" + resource);
  const std::uint32_t number = pod.number;
  if (!shape_of(deps_.plan, number).replaced || made_[number] >= kReplacements) return;
  ++made_[number];
  deps_.side.world().after(process_, kReplacedAfter, [this, number] { replace(number); });
}

// As a Deployment does, repeatedly.
void Kubelets::replace(std::uint32_t pod) {
  const std::int64_t now = deps_.side.unix_nanos();
  json::object object = pod_object(deps_.plan, pod, now);
  const std::string name = fmt::format("again-{}-pod-{}", made_[pod], pod);
  object["metadata"].as_object()["name"] = name;
  (void)deps_.side.api().create(Kind::pod, pod_name(deps_.plan, pod).ns, std::move(object));
}

void Kubelets::look_after(const PodView& pod, Known& known) {
  const Moment now = deps_.side.world().now();
  const bool fresh = known.since == Moment{};
  if (fresh) known.since = now;
  const local::ObjectPtr node = deps_.side.store().get(Kind::node, {"", pod.node});
  if (node == nullptr) {
    if (known.lost == Moment{}) known.lost = now;
    if (now - known.lost > kGarbage) remove(pod);
    return;
  }
  known.lost = {};
  if (pod.deleting) {
    if (known.leaving == Moment{}) known.leaving = now + draw_millis(rng_, 200, 5000);
    if (now >= known.leaving) remove(pod);
    return;
  }
  if (pod.ended()) return;
  if (!known.admitted) {
    const std::string pending = short_of(pod, view_of(deps_.plan, *node));
    if (!pending.empty()) return refuse(pod, pending);
    known.admitted = true;
  }
  const Duration life = shape_of(deps_.plan, pod.number).life;
  if (pod.phase != "Running" && now - known.since > kStarts) {
    set_phase(pod.name, "Running", "");
  } else if (life > Duration::zero() && now - known.since > life) {
    finish(pod.name);
  }
}

}  // namespace stowage::faults
