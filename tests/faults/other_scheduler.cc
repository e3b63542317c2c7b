#include "other_scheduler.h"

#include <set>
#include <utility>
#include <vector>

namespace stowage::faults {
namespace {

using local::Kind;

constexpr std::chrono::milliseconds kEvery{600};
constexpr std::chrono::seconds kPatience{110};

}  // namespace

OtherScheduler::OtherScheduler(const Deps& deps)
    : deps_(deps), process_(deps.side.world().start()) {
  if (deps_.plan.features.has(Feature::nominations)) look();
}

OtherScheduler::~OtherScheduler() { deps_.side.world().kill(process_); }

void OtherScheduler::bind(const local::ObjectName& pod, const std::string& node) {
  deps_.witness.disturbed(node);
  (void)deps_.side.api().bind({.pod = pod, .node = node});
}

std::optional<std::int64_t> OtherScheduler::free_index(const NodeView& node) {
  std::set<std::string> indexes;
  std::set<std::string> ids;
  for (const PodView* pod : deps_.views.pods()) {
    if (pod->node != node.name || pod->ended()) continue;
    indexes.insert(pod->indexes);
    for (const Share& share : pod->shares) ids.insert(share.card);
  }
  for (const CardView& card : node.cards) {
    if (!ids.contains(card.id) && !indexes.contains(std::to_string(card.index))) return card.index;
  }
  return std::nullopt;
}

void OtherScheduler::bind_by_index(const local::ObjectName& pod, const std::string& node) {
  const local::ObjectPtr there = deps_.side.store().get(Kind::node, {"", node});
  if (there == nullptr) return;
  const auto index = free_index(view_of(deps_.plan, *there));
  if (!index) return;
  deps_.witness.disturbed(node);
  (void)deps_.side.api().bind(
      {.pod = pod,
       .node = node,
       .annotations = {{"tencent.com/predicate-node", node},
                       {"tencent.com/predicate-gpu-idx-0", std::to_string(*index)},
                       {"tencent.com/predicate-time", std::to_string(deps_.side.unix_nanos())},
                       {"tencent.com/gpu-assigned", "true"}}});
}

void OtherScheduler::nominate(const local::ObjectName& pod, const std::string& node) {
  const local::ObjectPtr object = deps_.side.store().get(Kind::pod, pod);
  if (object == nullptr || !object->field("spec.nodeName").empty()) return;
  const auto done = deps_.side.api().update(
      Kind::pod, pod, local::Part::status, [&](json::object& tree) -> local::ApiResult<bool> {
        local::make_object(tree, "status")["nominatedNodeName"] = node;
        return true;
      });
  if (!done) return;
  nominated_[object->uid] = deps_.side.world().now();
  deps_.checks.nominated(object->uid);
}

void OtherScheduler::look() {
  World& world = deps_.side.world();
  world.after(process_, kEvery, [this] { look(); });
  std::vector<PodView> mine;
  for (const PodView* pod : deps_.views.pods()) {
    if (pod->scheduler != "other" || !pod->node.empty() || pod->nominated.empty()) continue;
    if (!pod->ended() && !pod->deleting) mine.push_back(*pod);
  }
  for (const PodView& pod : mine) {
    const local::ObjectPtr node = deps_.side.store().get(Kind::node, {"", pod.nominated});
    std::int64_t taken = pod.devices();
    for (const PodView* other : deps_.views.pods()) {
      if (other->node == pod.nominated && !other->ended()) taken += other->devices();
    }
    if (node != nullptr && taken <= view_of(deps_.plan, *node).offers["nvidia.com/gpu"]) {
      bind(pod.name, pod.nominated);
    } else if (world.now() - nominated_[pod.uid] > kPatience) {
      (void)deps_.side.api().remove(Kind::pod, pod.name);
    }
  }
}

}  // namespace stowage::faults
