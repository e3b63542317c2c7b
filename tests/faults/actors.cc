#include "actors.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

using local::Kind;
using local::Part;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kKubeletEvery{500};
constexpr seconds kStarts{1};
constexpr seconds kGarbage{15};  // pods of a node that has gone
constexpr std::uint32_t kNoQuota = 4;

}  // namespace

Actors::Actors(const Plan& plan, ApiSide& side, Views& views, Checks& checks)
    : plan_(plan),
      side_(side),
      views_(views),
      checks_(checks),
      process_(side.world().start()),
      rng_(plan.seed + 99) {
  local::Api& api = side_.api();
  const auto must = [](const auto& made) { STOWAGE_CHECK(made.has_value()); };
  must(api.create(Kind::ns, "", {{"metadata", json::object{{"name", "limited"}}}}));
  std::int64_t value = 0;
  for (const char* name : {"low", "middle", "high"}) {
    must(api.create(Kind::priority_class, "",
                    {{"metadata", json::object{{"name", name}}}, {"value", value}}));
    value += 100;
  }
  for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
    const std::uint32_t cards = node_shape(plan_, node).cards;
    nodes_.push_back({.lost = std::vector<bool>(cards), .broken = std::vector<bool>(cards)});
    must(api.create(Kind::node, "", node_object(plan_, node, nodes_.back())));
  }
  kubelets();
}

Actors::~Actors() { side_.world().kill(process_); }

void Actors::create_pod(std::uint32_t pod) {
  const local::ObjectName name = pod_name(plan_, pod);
  if (side_.store().get(Kind::pod, name) != nullptr) return;
  const auto made = side_.api().create(Kind::pod, name.ns, pod_object(plan_, pod));
  STOWAGE_CHECK(made.has_value());
}

void Actors::finish(const local::ObjectName& pod) {
  (void)side_.api().update(Kind::pod, pod, Part::status,
                           [](json::object& tree) -> local::ApiResult<bool> {
                             local::make_object(tree, "status")["phase"] = "Succeeded";
                             return true;
                           });
}

void Actors::write_node(std::uint32_t node) {
  NodeNow& now = nodes_[node];
  const local::ObjectName name{"", node_name(node)};
  if (!now.there) {
    (void)side_.api().remove(Kind::node, name);
    return;
  }
  json::object wanted = node_object(plan_, node, now);
  if (side_.store().get(Kind::node, name) == nullptr) {
    (void)side_.api().create(Kind::node, "", std::move(wanted));
    return;
  }
  (void)side_.api().update(
      Kind::node, name, Part::whole, [&](json::object& tree) -> local::ApiResult<bool> {
        tree["spec"] = wanted["spec"];
        tree["status"] = wanted["status"];
        local::make_object(local::make_object(tree, "metadata"), "annotations") =
            wanted["metadata"].as_object()["annotations"].as_object();
        return true;
      });
}

void Actors::set_quota(std::uint32_t cards) {
  const local::ObjectName name{"kube-system", "stowage-quota"};
  if (side_.store().get(Kind::config_map, name) != nullptr) {
    (void)side_.api().remove(Kind::config_map, name);
  }
  if (cards >= kNoQuota) return;
  const std::string text = fmt::format("limited:\n- {{model: \"*\", cards: {}}}\n", cards);
  const auto made = side_.api().create(
      Kind::config_map, name.ns,
      {{"metadata", json::object{{"name", name.name}}}, {"data", json::object{{"quota", text}}}});
  STOWAGE_CHECK(made.has_value());
}

// Nothing, nonsense, or another card than it was.
void Actors::edit_cards(const Step& step) {
  const local::ObjectName name = pod_name(plan_, step.subject);
  const local::ObjectPtr pod = side_.store().get(Kind::pod, name);
  if (pod == nullptr) return;
  const bool bound = !pod->field("spec.nodeName").empty();
  if (bound != (step.kind == StepKind::edit_cards)) return;
  // What stands on an unbound pod of this door is a promise of ours.
  if (!bound && shape_of(plan_, step.subject).door == Door::promise) return;
  if (bound) checks_.disown(pod->uid);
  const std::string text =
      fmt::format(R"({{"version":1,"node":"node-0","containers":{{"main":[{{"id":"{}",)"
                  R"("index":0,"milli":100,"memoryMiB":1024}}]}}}})",
                  card_id(plan_, 0, 0));
  (void)side_.api().update(
      Kind::pod, name, Part::main, [&](json::object& tree) -> local::ApiResult<bool> {
        json::object& annotations =
            local::make_object(local::make_object(tree, "metadata"), "annotations");
        if (bound && step.more % 3 == 0) {
          annotations.erase("stowage.dev/gpus");
        } else {
          annotations["stowage.dev/gpus"] = step.more % 3 == 1 ? "{nonsense" : text;
        }
        return true;
      });
}

void Actors::apply(const Step& step) {
  const auto card = [&]() { return step.more % nodes_[step.subject].lost.size(); };
  switch (step.kind) {
    case StepKind::create_pod: return create_pod(step.subject);
    case StepKind::delete_pod:
      (void)side_.api().remove(Kind::pod, pod_name(plan_, step.subject));
      return;
    case StepKind::replace_pod: {
      const local::ObjectName name = pod_name(plan_, step.subject);
      if (side_.store().get(Kind::pod, name) == nullptr) return;
      local::DeleteOptions now;
      now.grace_seconds = 0;
      (void)side_.api().remove(Kind::pod, name, now);
      return create_pod(step.subject);
    }
    case StepKind::finish_pod: {
      const local::ObjectName name = pod_name(plan_, step.subject);
      const local::ObjectPtr pod = side_.store().get(Kind::pod, name);
      if (pod != nullptr && !pod->field("spec.nodeName").empty()) finish(name);
      return;
    }
    case StepKind::delete_node: nodes_[step.subject].there = false; break;
    case StepKind::restore_node: nodes_[step.subject].there = true; break;
    case StepKind::lose_card: nodes_[step.subject].lost[card()] = true; break;
    case StepKind::break_card: nodes_[step.subject].broken[card()] = true; break;
    case StepKind::return_cards: {
      NodeNow& node = nodes_[step.subject];
      node.lost.assign(node.lost.size(), false);
      node.broken.assign(node.broken.size(), false);
      break;
    }
    case StepKind::cordon:
      nodes_[step.subject].cordoned = true;
      side_.world().after(process_, step.lasts, [this, node = step.subject] {
        nodes_[node].cordoned = false;
        write_node(node);
      });
      break;
    case StepKind::bind_elsewhere:
      (void)side_.api().bind({.pod = pod_name(plan_, step.subject), .node = node_name(step.more)});
      return;
    case StepKind::edit_cards:
    case StepKind::forge_cards: return edit_cards(step);
    case StepKind::set_quota: return set_quota(step.more);
    default: return;
  }
  write_node(step.subject);
}

void Actors::calm() { set_quota(kNoQuota); }

void Actors::kubelets() {
  for (const PodView* pod : views_.pods()) {
    if (pod->node.empty()) continue;
    const bool there = side_.store().get(Kind::node, {"", pod->node}) != nullptr;
    look_after(*pod, there);
  }
  side_.world().after(process_, kKubeletEvery, [this] { kubelets(); });
}

void Actors::look_after(const PodView& pod, bool node_there) {
  const Moment now = side_.world().now();
  Known& known = known_[pod.uid];
  if (known.since == Moment{}) known.since = now;
  local::DeleteOptions at_once;
  at_once.grace_seconds = 0;
  if (!node_there) {
    if (known.lost == Moment{}) known.lost = now;
    if (now - known.lost > kGarbage) (void)side_.api().remove(Kind::pod, pod.name, at_once);
    return;
  }
  known.lost = {};
  if (pod.deleting) {
    if (known.leaving == Moment{}) known.leaving = now + draw_millis(rng_, 200, 5000);
    if (now >= known.leaving) (void)side_.api().remove(Kind::pod, pod.name, at_once);
    return;
  }
  if (pod.ended()) return;
  const Duration life = shape_of(plan_, pod.number).life;
  if (pod.phase != "Running" && now - known.since > kStarts) {
    (void)side_.api().update(Kind::pod, pod.name, Part::status,
                             [](json::object& tree) -> local::ApiResult<bool> {
                               local::make_object(tree, "status")["phase"] = "Running";
                               return true;
                             });
  } else if (life > Duration::zero() && now - known.since > life) {
    finish(pod.name);
  }
}

}  // namespace stowage::faults
