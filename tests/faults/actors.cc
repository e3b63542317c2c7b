#include "actors.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

using local::Kind;
using local::Part;
using std::chrono::seconds;

constexpr std::uint32_t kNoQuota = 4;

}  // namespace

Actors::Actors(const Kubelets::Deps& deps)
    : plan_(deps.plan),
      side_(deps.side),
      views_(deps.views),
      checks_(deps.checks),
      witness_(deps.witness),
      process_(side_.world().start()),
      kubelets_(deps),
      volumes_(plan_, side_),
      other_(
          {.plan = plan_, .side = side_, .views = views_, .checks = checks_, .witness = witness_}) {
  local::Api& api = side_.api();
  const auto must = [](const auto& made) { STOWAGE_CHECK(made.has_value()); };
  must(api.create(Kind::ns, "", {{"metadata", json::object{{"name", "limited"}}}}));
  std::int64_t value = 0;
  for (const char* name : {"low", "middle", "high"}) {
    must(api.create(Kind::priority_class, "",
                    {{"metadata", json::object{{"name", name}}}, {"value", value}}));
    value += 100;
  }
  for (std::uint32_t node = 0; node < plan_.all_nodes(); ++node) {
    nodes_.push_back(first_state(plan_, node));
    must(api.create(Kind::node, "", node_object(plan_, node, nodes_.back())));
  }
}

Actors::~Actors() { side_.world().kill(process_); }

void Actors::create_pod(std::uint32_t pod) {
  const local::ObjectName name = pod_name(plan_, pod);
  if (side_.store().get(Kind::pod, name) != nullptr) return;
  if (shape_of(plan_, pod).claim) volumes_.create_claim(pod);
  const auto made =
      side_.api().create(Kind::pod, name.ns, pod_object(plan_, pod, side_.unix_nanos()));
  STOWAGE_CHECK(made.has_value());
  if (const std::uint32_t on = shape_of(plan_, pod).born_on; on != 0) {
    checks_.disown((*made)->uid);
    witness_.disturbed(node_name(on - 1));
  }
}

void Actors::write_node(std::uint32_t node) {
  NodeNow& now = nodes_[node];
  const local::ObjectName name{"", node_name(node)};
  witness_.disturbed(name.name);
  witness_.resized(name.name);
  witness_.changed("");
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

// Writes nothing, an invalid text, or another card.
void Actors::edit_cards(const Step& step) {
  const local::ObjectName name = pod_name(plan_, step.subject);
  const local::ObjectPtr pod = side_.store().get(Kind::pod, name);
  if (pod == nullptr) return;
  const bool bound = !pod->field("spec.nodeName").empty();
  if (bound != (step.kind == StepKind::edit_cards)) return;
  // The annotation of an unbound pod of this listener is our pre-allocation.
  if (!bound && shape_of(plan_, step.subject).listener == Listener::pre_allocation) return;
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

void Actors::write_config(const std::string& name, const std::string& key,
                          const std::string& text) {
  const local::ObjectName full{"kube-system", name};
  const bool there = side_.store().get(Kind::config_map, full) != nullptr;
  if (text.empty()) {
    if (there) (void)side_.api().remove(Kind::config_map, full);
    return;
  }
  if (there) {
    (void)side_.api().update(Kind::config_map, full, Part::main,
                             [&](json::object& tree) -> local::ApiResult<bool> {
                               local::make_object(tree, "data")[key] = text;
                               return true;
                             });
    return;
  }
  const auto made = side_.api().create(
      Kind::config_map, full.ns,
      {{"metadata", json::object{{"name", name}}}, {"data", json::object{{key, text}}}});
  STOWAGE_CHECK(made.has_value());
}

void Actors::set_quota(const Limits& limits) {
  std::string parts;
  const auto add = [&](const char* what, const std::optional<std::int64_t>& limit) {
    if (limit) parts += fmt::format(", {}: {}", what, *limit);
  };
  add("cards", limits.cards);
  add("milli", limits.milli);
  add("memoryMiB", limits.memory_mib);
  write_config("stowage-quota", "quota",
               parts.empty() ? "" : fmt::format("limited:\n- {{model: \"*\"{}}}\n", parts));
  write_config("gpuquota", "gpu_quota",
               limits.node_cards
                   ? fmt::format(R"({{"limited":{{"quota":{{"Model":{}}}}}}})", *limits.node_cards)
                   : "");
  checks_.quotas().set(limits);
}

void Actors::set_limits(std::uint32_t how) {
  Limits limits;
  switch (how % 5) {
    case 0: limits.cards = 1 + how % 3; break;
    case 1:
    case 2: limits.milli = 500 * (1 + how % 4); break;
    case 3: limits.memory_mib = 8192 * (1 + how % 4); break;
    default: limits.node_cards = 1 + how % 2; break;
  }
  set_quota(limits);
}

// The first running pod there, by name.
void Actors::end_one_on(std::uint32_t node) {
  for (const PodView* pod : views_.pods()) {
    if (pod->node != node_name(node) || pod->ended() || pod->devices() == 0) continue;
    return kubelets_.finish(local::ObjectName(pod->name));
  }
}

void Actors::apply_to_pod(const Step& step) {
  const local::ObjectName name = pod_name(plan_, step.subject);
  const local::ObjectPtr pod = side_.store().get(Kind::pod, name);
  switch (step.kind) {
    case StepKind::create_pod: return create_pod(step.subject);
    case StepKind::delete_pod: (void)side_.api().remove(Kind::pod, name); return;
    case StepKind::replace_pod: {
      if (pod == nullptr) return;
      witness_.changed(view_of(*pod).app);
      local::DeleteOptions now;
      now.grace_seconds = 0;
      (void)side_.api().remove(Kind::pod, name, now);
      return create_pod(step.subject);
    }
    case StepKind::finish_pod:
      if (pod != nullptr && !pod->field("spec.nodeName").empty()) kubelets_.finish(name);
      return;
    case StepKind::bind_elsewhere: return other_.bind(name, node_name(step.more));
    case StepKind::nominate: return other_.nominate(name, node_name(step.more));
    case StepKind::bind_by_index: return other_.bind_by_index(name, node_name(step.more));
    default: return;
  }
}

// For a while the node only has a number of cards. When the inventory is back, its cards have other
// indexes, and one card may be missing.
void Actors::hide_inventory(const Step& step) {
  const NodeShape shape = node_shape(plan_, step.subject);
  // Cards without an inventory may be shared by any number of pods.
  if (!shape.inventory || shape.slots > 0) return;
  NodeNow& node = nodes_[step.subject];
  node.unlisted = true;
  node.renumbered = true;
  const auto cards = static_cast<std::uint32_t>(node.cards.size());
  for (CardNow& card : node.cards) card.index = (card.index + step.more) % cards;
  if (step.more % 4 == 0) node.cards[step.more % cards].lost = true;
  side_.world().after(process_, step.lasts, [this, number = step.subject] {
    nodes_[number].unlisted = false;
    write_node(number);
  });
  write_node(step.subject);
}

void Actors::apply_to_node(const Step& step) {
  NodeNow& node = nodes_[step.subject];
  const auto card = [&]() -> CardNow& { return node.cards[step.more % node.cards.size()]; };
  const bool inventory = node_shape(plan_, step.subject).inventory;
  switch (step.kind) {
    case StepKind::delete_node: node.there = false; break;
    case StepKind::restore_node: node.there = true; break;
    case StepKind::lose_card: card().lost = true; break;
    case StepKind::break_card: card().broken = true; break;
    case StepKind::return_cards:
      for (CardNow& each : node.cards) each.lost = each.broken = false;
      break;
    case StepKind::resize_node:
      node.cards.resize(step.more);
      for (std::uint32_t i = 0; i < step.more; ++i) node.cards[i].index = i;
      break;
    case StepKind::restart_plugin:
      node.plugin_away = true;
      side_.world().after(process_, step.lasts, [this, number = step.subject] {
        nodes_[number].plugin_away = false;
        write_node(number);
      });
      break;
    case StepKind::reorder_cards:
      if (!inventory) return;
      std::rotate(node.cards.begin(), node.cards.begin() + step.more % std::ssize(node.cards),
                  node.cards.end());
      if (step.more % 2 == 0) std::reverse(node.cards.begin(), node.cards.end());
      break;
    case StepKind::hide_inventory: return hide_inventory(step);
    case StepKind::replace_card:
      if (!inventory) return;
      card().id = fmt::format("GPU-{}-new-{}", step.subject, ++node.replaced);
      break;
    case StepKind::cordon:
      node.cordoned = true;
      side_.world().after(process_, step.lasts, [this, number = step.subject] {
        nodes_[number].cordoned = false;
        write_node(number);
      });
      break;
    default: return;
  }
  write_node(step.subject);
}

void Actors::apply(const Step& step) {
  switch (step.kind) {
    case StepKind::edit_cards:
    case StepKind::forge_cards: return edit_cards(step);
    case StepKind::set_quota: {
      Limits limits;
      if (step.more < kNoQuota) limits.cards = step.more;
      return set_quota(limits);
    }
    case StepKind::set_limits: return set_limits(step.more);
    case StepKind::end_one_on: return end_one_on(step.subject);
    case StepKind::delete_lease:
      (void)side_.api().remove(Kind::lease, {"kube-system", "stowage"});
      return;
    case StepKind::create_pod:
    case StepKind::delete_pod:
    case StepKind::replace_pod:
    case StepKind::finish_pod:
    case StepKind::bind_elsewhere:
    case StepKind::nominate:
    case StepKind::bind_by_index: return apply_to_pod(step);
    default: return apply_to_node(step);
  }
}

void Actors::calm() {
  set_quota({});
  volumes_.calm();
}

}  // namespace stowage::faults
