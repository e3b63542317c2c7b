#include "codec/lease.h"

#include "base/json_writer.h"
#include "base/rfc3339.h"
#include "codec/fields.h"
#include "codec/object_out.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

Status read_spec(JsonValue& value, Lease& lease) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "holderIdentity") return read(field, lease.holder);
    if (key == "leaseDurationSeconds") return read(field, lease.seconds);
    if (key == "acquireTime") return read(field, lease.acquired);
    if (key == "renewTime") return read(field, lease.renewed);
    if (key == "leaseTransitions") return read(field, lease.transitions);
    return {};
  });
}

void put_spec(JsonWriter& json, const LeaseRequest& ask) {
  json.key("spec").begin_object();
  json.key("holderIdentity").value(ask.holder);
  json.key("leaseDurationSeconds").value(ask.seconds);
  if (ask.acquired_micros != 0)
    json.key("acquireTime").value(base::format_rfc3339_micros(ask.acquired_micros));
  json.key("renewTime").value(base::format_rfc3339_micros(ask.renewed_micros));
  json.key("leaseTransitions").value(ask.transitions);
  json.end_object();
}

}  // namespace

Result<Lease> read_lease(std::string_view json) {
  JsonText text;
  Lease lease;
  STOWAGE_TRY(fields, text.open(json, kMaxObjectBytes));
  Metadata metadata;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "spec") return read_spec(value, lease);
    return key == "metadata" ? read_metadata(value, metadata) : Status{};
  }));
  lease.resource_version = std::move(metadata.resource_version);
  lease.uid = std::move(metadata.uid);
  lease.annotations = std::move(metadata.annotations);
  STOWAGE_TRY_VOID(text.close());
  if (lease.resource_version.empty()) return fail("metadata.resourceVersion: is missing");
  return lease;
}

std::string lease(const LeaseRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  begin_object(
      json,
      {.api_version = "coordination.k8s.io/v1", .kind = "Lease", .ns = ask.ns, .name = ask.name});
  if (!ask.annotations.empty()) put_texts(json, "annotations", ask.annotations);
  json.end_object();
  put_spec(json, ask);
  json.end_object();
  return json.take();
}

std::string lease_patch(const LeaseRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("metadata").begin_object();
  json.key("resourceVersion").value(ask.resource_version);
  if (!ask.annotations.empty()) put_texts(json, "annotations", ask.annotations);
  json.end_object();
  put_spec(json, ask);
  json.end_object();
  return json.take();
}

}  // namespace stowage::codec
