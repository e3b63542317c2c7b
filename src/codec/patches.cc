#include "codec/patches.h"

#include "base/json_writer.h"
#include "codec/encode.h"
#include "codec/object_out.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kMaxVolumeBytes = std::size_t{4} << 20U;
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";

void put_uid(JsonWriter& json, std::string_view uid) {
  if (uid.empty()) return;
  json.key("metadata").begin_object().key("uid").value(uid).end_object();
}

Status read_metadata(JsonValue& value, VolumeOwner& owner) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "resourceVersion") return read(field, owner.resource_version);
    if (key == "deletionTimestamp") owner.deleting = true;
    return {};
  });
}

Status read_claim_ref(JsonValue& value, VolumeOwner& owner) {
  owner.claimed = true;
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "namespace") return read(field, owner.claim.ns);
    if (key == "name") return read(field, owner.claim.name);
    if (key == "uid") return read(field, owner.claim.uid);
    return {};
  });
}

// The same in capacity and in allocatable: the kubelet copies one to the other only from time to
// time.
void put_amounts(JsonWriter& json, const dialect::NodeOfferPlan& plan) {
  json.key("status").begin_object();
  for (const char* field : {"capacity", "allocatable"}) {
    json.key(field).begin_object();
    for (const auto& [name, amount] : plan.write) json.key(name).value(std::to_string(amount));
    for (const std::string& name : plan.remove) json.key(name).null();
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string node_offer_patch(const dialect::NodeOffer& there, const dialect::NodeOfferPlan& plan) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("metadata").begin_object();
  json.key("uid").value(there.uid).key("resourceVersion").value(there.resource_version);
  json.key("annotations").begin_object().key(dialect::kNodeResourcesAnnotation);
  put_or_remove(json, dialect::record_text(plan.record));
  json.end_object().end_object();
  if (!plan.write.empty() || !plan.remove.empty()) put_amounts(json, plan);
  json.end_object();
  return json.take();
}

std::string disruption_patch(const DisruptionRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  put_uid(json, ask.uid);
  json.key("status").begin_object().key("conditions").begin_array().begin_object();
  json.key("type").value("DisruptionTarget").key("status").value("True");
  json.key("reason").value("PreemptionByScheduler").key("message").value(ask.message);
  json.key("lastTransitionTime").value(time_text(ask.unix_seconds));
  json.end_object().end_array().end_object().end_object();
  return json.take();
}

std::string delete_options(std::string_view uid) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("apiVersion").value("v1").key("kind").value("DeleteOptions");
  json.key("preconditions").begin_object().key("uid").value(uid).end_object();
  json.end_object();
  return json.take();
}

std::string nomination_patch(std::string_view uid, std::string_view node) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  put_uid(json, uid);
  json.key("status").begin_object().key("nominatedNodeName");
  put_or_remove(json, node);
  json.end_object().end_object();
  return json.take();
}

std::string selected_node_patch(std::string_view uid, std::string_view node) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("metadata").begin_object();
  if (!uid.empty()) json.key("uid").value(uid);
  json.key("annotations").begin_object().key(kSelectedNode);
  put_or_remove(json, node);
  json.end_object().end_object().end_object();
  return json.take();
}

std::string claim_ref_patch(const ClaimRefRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("metadata").begin_object();
  json.key("resourceVersion").value(ask.volume_version);
  if (ask.by_us) {
    json.key("annotations").begin_object().key(kBoundByController).value("yes").end_object();
  }
  json.end_object();
  json.key("spec").begin_object().key("claimRef").begin_object();
  json.key("apiVersion").value("v1").key("kind").value("PersistentVolumeClaim");
  json.key("namespace").value(ask.claim.ns).key("name").value(ask.claim.name);
  json.key("uid").value(ask.claim.uid);
  json.end_object().end_object().end_object();
  return json.take();
}

Result<VolumeOwner> read_volume_owner(std::string_view volume_json) {
  JsonText text;
  VolumeOwner owner;
  STOWAGE_TRY(fields, text.open(volume_json, kMaxVolumeBytes));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "metadata") return read_metadata(value, owner);
    if (key != "spec") return {};
    return each_field(value, [&](std::string_view inner, JsonValue& field) -> Status {
      return inner == "claimRef" ? read_claim_ref(field, owner) : Status{};
    });
  }));
  STOWAGE_TRY_VOID(text.close());
  if (owner.resource_version.empty()) return fail("metadata.resourceVersion: is missing");
  return owner;
}

}  // namespace stowage::codec
