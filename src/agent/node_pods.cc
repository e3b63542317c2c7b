#include "agent/node_pods.h"

#include <tuple>
#include <utility>

#include "dialect/dialect.h"

namespace stowage::agent {
namespace {

kube::ReflectorOptions watching(const std::string& node, std::uint64_t seed) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName=" + node;
  options.from_cache = true;
  options.seed = seed;
  return options;
}

}  // namespace

NodePods::NodePods(kube::ApiClient& client, const std::string& node, std::uint64_t seed,
                   base::Log& log)
    : node_(node), log_(log), informer_(client, {.reflector = watching(node, seed)}, *this) {}

Result<NodePod> NodePods::decode(std::string_view json) {
  STOWAGE_TRY(object, decoder_.pod(json));
  STOWAGE_TRY(ids, codec::read_container_ids(json));
  return NodePod{.object = std::move(object), .ids = std::move(ids)};
}

Result<std::string> NodePods::key_of(std::string_view json) {
  std::string uid = decoder_.identity(json).uid;
  if (uid.empty()) return fail("the uid of a deleted pod cannot be read");
  return uid;
}

void NodePods::updated(NodePod pod) {
  drop(pod.object.uid);
  if (pod.object.node != node_ || pod.object.ended()) return;
  for (const auto& [container, id] : pod.ids) {
    by_runtime_id_.insert_or_assign(
        id, ContainerName{.ns = pod.object.ns, .pod = pod.object.name, .container = container});
  }
  const std::string uid = pod.object.uid;
  pods_.insert_or_assign(uid, std::move(pod));
  if (on_updated_) on_updated_();
}

void NodePods::unreadable(const Unreadable& pod) {
  log_.debug("unreadable pod", {{"why", pod.why}});
}

void NodePods::drop(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  for (const auto& [container, id] : found->second.ids) by_runtime_id_.erase(id);
  pods_.erase(found);
}

void NodePods::status_changed(const kube::ReflectorStatus& status) {
  if (status.phase != kube::ReflectorPhase::disconnected) return;
  if (std::exchange(trouble_, status.error) == status.error) return;
  log_.warn("cannot list the pods of this node: metrics have no limits of containers",
            {{"why", status.error}});
}

void NodePods::unreadable_event(const std::string& why) {
  log_.debug("unreadable watch event", {{"why", why}});
}

Given NodePods::given(const std::vector<core::Card>& cards) const {
  const core::NodeSpec node{.name = node_, .cards = cards};
  Given given;
  // A container may have several shares of one card.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Grant> grants;
  for (const auto& [uid, entry] : pods_) {
    const auto spec = dialect::to_spec(entry.object, {});
    if (!spec) continue;
    const auto answer = dialect::read_answer(entry.object, *spec, &node);
    if (!answer || !*answer || (*answer)->containers.size() != spec->containers.size()) continue;
    for (const core::CardCharge& charge : core::footprint(*spec, **answer)) {
      if (charge.card >= cards.size()) continue;
      CardGiven& sum = given.cards[cards[charge.card].id];
      sum.milli += charge.milli;
      sum.memory_mib += charge.memory_mib;
    }
    for (std::size_t i = 0; i < spec->containers.size(); ++i) {
      for (const core::CardShare& share : (*answer)->containers[i]) {
        if (share.card >= cards.size()) continue;
        Grant grant{.ns = entry.object.ns,
                    .pod = entry.object.name,
                    .container = spec->containers[i].name,
                    .card = cards[share.card].id};
        const auto at =
            grants.try_emplace({grant.ns, grant.pod, grant.container, grant.card}, grant);
        at.first->second.milli += share.milli;
        at.first->second.memory_mib += share.memory_mib;
      }
    }
  }
  for (auto& [name, grant] : grants) given.grants.push_back(std::move(grant));
  return given;
}

const dialect::PodObject* NodePods::pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second.object;
}

const ContainerName* NodePods::container(const std::string& runtime_id) const {
  const auto found = by_runtime_id_.find(runtime_id);
  return found == by_runtime_id_.end() ? nullptr : &found->second;
}

}  // namespace stowage::agent
