#include "volumes.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

using local::Kind;
using local::Part;

constexpr std::chrono::milliseconds kEvery{400};
constexpr std::string_view kNode = "volume.kubernetes.io/selected-node";
constexpr const char* kClass = "on-demand";
constexpr const char* kProvisioner = "disk.example.com";

std::string selected(const json::object& claim) {
  const json::object* annotations = local::object_at(claim, "metadata.annotations");
  if (annotations == nullptr || !annotations->contains(kNode)) return {};
  return std::string(local::text_of(annotations->at(kNode)));
}

}  // namespace

Volumes::Volumes(const Plan& plan, ApiSide& side)
    : plan_(plan), side_(side), process_(side.world().start()), rng_(plan.seed + 41) {
  if (!plan_.features.has(Feature::volumes)) return;
  const auto made = side_.api().create(Kind::storage_class, "",
                                       {{"metadata", json::object{{"name", kClass}}},
                                        {"provisioner", kProvisioner},
                                        {"volumeBindingMode", "WaitForFirstConsumer"}});
  STOWAGE_CHECK(made.has_value());
  look();
}

Volumes::~Volumes() { side_.world().kill(process_); }

void Volumes::create_claim(std::uint32_t pod) {
  const local::ObjectName name{pod_name(plan_, pod).ns, claim_name(pod)};
  if (side_.store().get(Kind::persistent_volume_claim, name) != nullptr) return;
  json::object resources{{"requests", json::object{{"storage", "1Gi"}}}};
  const auto made =
      side_.api().create(Kind::persistent_volume_claim, name.ns,
                         {{"metadata", json::object{{"name", name.name}, {"namespace", name.ns}}},
                          {"spec", json::object{{"accessModes", json::array{"ReadWriteOnce"}},
                                                {"storageClassName", kClass},
                                                {"resources", std::move(resources)}}}});
  STOWAGE_CHECK(made.has_value());
}

void Volumes::look() {
  std::vector<local::ObjectPtr> claims;
  side_.store().visit(Kind::persistent_volume_claim, "",
                      [&](const local::ObjectPtr& claim) { claims.push_back(claim); });
  for (const local::ObjectPtr& claim : claims) look_at(claim);
  side_.world().after(process_, kEvery, [this] { look(); });
}

void Volumes::look_at(const local::ObjectPtr& claim) {
  // Most claims wait for a node, or are bound: these are not parsed.
  const std::string_view bytes = claim->bytes;
  const bool chosen = bytes.find(kNode) != std::string_view::npos;
  if (!chosen || bytes.find(R"("volumeName":")") != std::string_view::npos) return;
  const json::object tree = claim->tree();
  if (!local::text_at(tree, "spec.volumeName").empty()) return;
  const std::string node = selected(tree);
  if (node.empty()) return;
  const Moment now = side_.world().now();
  const auto [due, fresh] = due_.try_emplace(claim->uid + "/" + node, now);
  if (fresh) {
    const std::uint64_t mood = rng_.below(10);
    const double most = calm_ ? 2'000 : mood < 4 ? 3'000 : mood < 8 ? 40'000 : 150'000;
    due->second = now + draw_millis(rng_, 300, most);
  }
  if (now < due->second) return;
  due_.erase(due);
  if (!calm_ && rng_.below(8) == 0) return give_up(claim->name);
  provision(claim, node);
}

void Volumes::give_up(const local::ObjectName& claim) {
  (void)side_.api().update(Kind::persistent_volume_claim, claim, Part::main,
                           [](json::object& tree) -> local::ApiResult<bool> {
                             json::object& metadata = local::make_object(tree, "metadata");
                             local::make_object(metadata, "annotations").erase(kNode);
                             return true;
                           });
}

void Volumes::provision(const local::ObjectPtr& claim, const std::string& node) {
  const std::string volume = "volume-" + claim->uid;
  json::object reference{{"kind", "PersistentVolumeClaim"},
                         {"apiVersion", "v1"},
                         {"name", claim->name.name},
                         {"namespace", claim->name.ns},
                         {"uid", claim->uid}};
  json::object term{{"matchExpressions", json::array{json::object{{"key", "kubernetes.io/hostname"},
                                                                  {"operator", "In"},
                                                                  {"values", json::array{node}}}}}};
  json::object affinity{
      {"required", json::object{{"nodeSelectorTerms", json::array{std::move(term)}}}}};
  const auto made = side_.api().create(
      Kind::persistent_volume, "",
      {{"metadata", json::object{{"name", volume}}},
       {"spec",
        json::object{{"capacity", json::object{{"storage", "1Gi"}}},
                     {"accessModes", json::array{"ReadWriteOnce"}},
                     {"storageClassName", kClass},
                     {"claimRef", std::move(reference)},
                     {"nodeAffinity", std::move(affinity)},
                     {"csi", json::object{{"driver", kProvisioner}, {"volumeHandle", volume}}}}},
       {"status", json::object{{"phase", "Bound"}}}});
  STOWAGE_CHECK(made.has_value());
  (void)side_.api().update(
      Kind::persistent_volume_claim, claim->name, Part::whole,
      [&](json::object& tree) -> local::ApiResult<bool> {
        json::object& metadata = local::make_object(tree, "metadata");
        local::make_object(metadata, "annotations")["pv.kubernetes.io/bind-completed"] = "yes";
        local::make_object(tree, "spec")["volumeName"] = volume;
        local::make_object(tree, "status")["phase"] = "Bound";
        return true;
      });
}

}  // namespace stowage::faults
