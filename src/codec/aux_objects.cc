// Decoder::aux_object: claims, volumes and other objects that scheduling rules refer to.
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "codec/fields.h"
#include "codec/kubernetes.h"

namespace stowage::codec {
namespace {

using core::AuxKind;

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kBoundAnnotation = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kNodeAnnotation = "volume.kubernetes.io/selected-node";
constexpr std::string_view kZoneLabels[] = {"topology.kubernetes.io/zone",
                                            "failure-domain.beta.kubernetes.io/zone"};

struct Sections {  // of an object; each is read according to the kind
  Metadata& meta;
  JsonFields& fields;
};

template <typename Each>
Status each_section(const Sections& object, Each&& each) {
  return each_field(object.fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") return read_metadata(field, object.meta);
    return each(key, field);
  });
}

// An error if anything is unsupported.
Status understood(const Unsupported& unsupported) {
  if (unsupported.empty()) return {};
  return fail(fmt::format("{} is not supported", unsupported.front()));
}

const std::string* annotation(const Metadata& meta, std::string_view key) {
  const auto found = meta.annotations.find(std::string(key));
  return found == meta.annotations.end() ? nullptr : &found->second;
}

std::string full_name(const Metadata& meta) { return fmt::format("{}/{}", meta.ns, meta.name); }

Status read_bytes(JsonValue& value, std::int64_t& out) {
  const bool is_number = value.kind() == JsonValue::Kind::number;
  STOWAGE_TRY(text, is_number ? value.number() : value.text());
  const auto quantity = base::Quantity::parse(text);
  if (!quantity) return value.wrong(quantity.error().message);
  const auto bytes = quantity->units();
  if (!bytes) return value.wrong(bytes.error().message);
  out = *bytes;
  return {};
}

// The "storage" entry of quantities.
Status read_storage(JsonValue& value, std::int64_t& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    return key == "storage" ? read_bytes(field, out) : Status();
  });
}

Status read_modes(JsonValue& value, core::AccessModes& out) {
  out = 0;
  return each_element(value, [&](JsonValue& element) -> Status {
    STOWAGE_TRY(word, element.text());
    const auto mode = word == "ReadWriteOnce"      ? core::AccessMode::rwo
                      : word == "ReadOnlyMany"     ? core::AccessMode::rox
                      : word == "ReadWriteMany"    ? core::AccessMode::rwx
                      : word == "ReadWriteOncePod" ? core::AccessMode::rwop
                                                   : core::AccessMode{};
    if (mode == core::AccessMode{}) {
      return element.wrong(fmt::format("\"{}\" is not an access mode", word.substr(0, 64)));
    }
    out = static_cast<core::AccessModes>(out | static_cast<core::AccessModes>(mode));
    return {};
  });
}

Status read_block(JsonValue& value, bool& out) {
  STOWAGE_TRY(mode, value.text());
  out = mode == "Block";
  return {};
}

Status read_claim_spec(JsonValue& value, core::Claim& claim, Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "volumeName") return read(field, claim.volume);
    if (key == "storageClassName") {
      claim.has_class = true;
      return read(field, claim.storage_class);
    }
    if (key == "volumeMode") return read_block(field, claim.block);
    if (key == "accessModes") return read_modes(field, claim.modes);
    if (key == "selector") return read_label_selector(field, claim.selector.emplace(), unsupported);
    if (key != "resources") return {};
    return each_field(field, [&](std::string_view kind, JsonValue& amounts) -> Status {
      return kind == "requests" ? read_storage(amounts, claim.bytes) : Status();
    });
  });
}

Result<core::AuxObject> read_claim(const Sections& object) {
  core::Claim claim;
  Unsupported unsupported;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "spec") return read_claim_spec(field, claim, unsupported);
    if (key != "status") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      if (name != "phase") return {};
      STOWAGE_TRY(phase, part.text());
      claim.lost = phase == "Lost";
      return {};
    });
  }));
  STOWAGE_TRY_VOID(understood(unsupported));
  const Metadata& meta = object.meta;
  claim.name = full_name(meta);
  claim.uid = meta.uid;
  claim.owner_uid = meta.controller_uid;
  claim.deleting = meta.deleting;
  if (const std::string* name =
          annotation(meta, kClassAnnotation)) {  // takes precedence over the field
    claim.storage_class = *name;
    claim.has_class = true;
  }
  claim.bound = !claim.volume.empty() && annotation(meta, kBoundAnnotation) != nullptr;
  if (const std::string* node = annotation(meta, kNodeAnnotation)) claim.selected_node = *node;
  return claim;
}

// A legacy volume source that a CSI driver serves today.
struct OldSource {
  std::string_view field;
  std::string_view driver;
  std::string_view id;  // the field with the volume's id
};
constexpr OldSource kOldSources[] = {
    {"gcePersistentDisk", "pd.csi.storage.gke.io", "pdName"},
    {"awsElasticBlockStore", "ebs.csi.aws.com", "volumeID"},
    {"azureDisk", "disk.csi.azure.com", "diskURI"},
    {"cinder", "cinder.csi.openstack.org", "volumeID"},
    {"vsphereVolume", "csi.vsphere.vmware.com", "volumePath"},
};

Status read_source(JsonValue& value, std::string_view id, core::Volume& volume) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    return key == id ? read(field, volume.handle) : Status();
  });
}

Status read_csi(JsonValue& value, core::Volume& volume) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "driver") return read(field, volume.driver);
    return key == "volumeHandle" ? read(field, volume.handle) : Status();
  });
}

Status read_claim_ref(JsonValue& value, core::Volume& volume) {
  std::string ns;
  std::string name;
  volume.claim_uid.clear();
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "namespace") return read(field, ns);
    if (key == "name") return read(field, name);
    return key == "uid" ? read(field, volume.claim_uid) : Status();
  }));
  volume.claim = fmt::format("{}/{}", ns, name);
  return {};
}

Status read_volume_field(std::string_view key, JsonValue& field, core::Volume& volume,
                         Unsupported& unsupported) {
  if (key == "storageClassName") return read(field, volume.storage_class);
  if (key == "volumeMode") return read_block(field, volume.block);
  if (key == "accessModes") return read_modes(field, volume.modes);
  if (key == "capacity") return read_storage(field, volume.bytes);
  if (key == "claimRef") return read_claim_ref(field, volume);
  if (key == "csi") return read_csi(field, volume);
  if (key == "nodeAffinity") {
    return each_field(field, [&](std::string_view kind, JsonValue& selector) -> Status {
      if (kind != "required") return {};
      return read_node_selector(selector, volume.affinity.emplace(), unsupported);
    });
  }
  for (const OldSource& source : kOldSources) {
    if (key != source.field) continue;
    volume.driver = source.driver;
    return read_source(field, source.id, volume);
  }
  return {};
}

// The driver's handle of a legacy volume.
void translate_handle(core::Volume& volume) {
  if (volume.driver == kOldSources[0].driver && volume.handle.find('/') == std::string::npos) {
    std::string zone = "UNSPECIFIED";
    for (const std::string_view key : kZoneLabels) {
      const auto label = volume.labels.find(std::string(key));
      if (label != volume.labels.end()) {
        zone = label->second;
        break;
      }
    }
    volume.handle = fmt::format("projects/UNSPECIFIED/zones/{}/disks/{}", zone, volume.handle);
  } else if (volume.driver == kOldSources[1].driver && volume.handle.starts_with("aws://")) {
    volume.handle.erase(0, volume.handle.rfind('/') + 1);
  }
}

Result<core::AuxObject> read_volume(const Sections& object) {
  core::Volume volume;
  Unsupported unsupported;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "spec" && key != "status") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      if (key == "spec") return read_volume_field(name, part, volume, unsupported);
      if (name != "phase") return {};
      STOWAGE_TRY(phase, part.text());
      // A pending volume will be available soon, but a pod would lose the race for it.
      volume.available = phase.empty() || phase == "Available";
      return {};
    });
  }));
  STOWAGE_TRY_VOID(understood(unsupported));
  Metadata& meta = object.meta;
  volume.name = meta.name;
  volume.deleting = meta.deleting;
  volume.labels = std::move(meta.labels);
  if (const std::string* name = annotation(meta, kClassAnnotation)) volume.storage_class = *name;
  translate_handle(volume);
  return volume;
}

Status read_topologies(JsonValue& value, std::vector<core::NodeTerm>& terms) {
  terms.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (terms.size() > core::kMaxAuxObjectBytes / core::kBytesPerEntry) return {};
    core::NodeTerm& term = terms.emplace_back();
    return each_field(element, [&](std::string_view key, JsonValue& list) -> Status {
      if (key != "matchLabelExpressions") return {};
      term.labels.clear();
      return each_element(list, [&](JsonValue& one) -> Status {
        core::Requirement& requirement = term.labels.emplace_back();
        return each_field(one, [&](std::string_view name, JsonValue& part) -> Status {
          if (name == "key") return read(part, requirement.key);
          return name == "values" ? read_strings(part, requirement.values) : Status();
        });
      });
    });
  });
}

Result<core::AuxObject> read_class(const Sections& object) {
  core::StorageClass out;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "provisioner") return read(field, out.provisioner);
    if (key == "allowedTopologies") return read_topologies(field, out.topologies);
    if (key != "volumeBindingMode") return {};
    STOWAGE_TRY(mode, field.text());
    out.waits = mode == "WaitForFirstConsumer";
    return {};
  }));
  out.name = object.meta.name;
  return out;
}

Result<core::AuxObject> read_driver(const Sections& object) {
  core::StorageDriver driver;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "spec") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      return name == "storageCapacity" ? read(part, driver.tells_capacity) : Status();
    });
  }));
  driver.name = object.meta.name;
  return driver;
}

Result<core::AuxObject> read_capacity(const Sections& object) {
  core::StorageCapacity capacity;
  Unsupported unsupported;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "storageClassName") return read(field, capacity.storage_class);
    if (key == "capacity") return read_bytes(field, capacity.bytes);
    if (key == "maximumVolumeSize") return read_bytes(field, capacity.largest.emplace());
    if (key != "nodeTopology") return {};
    return read_label_selector(field, capacity.nodes.emplace(), unsupported);
  }));
  STOWAGE_TRY_VOID(understood(unsupported));
  capacity.name = full_name(object.meta);
  return capacity;
}

Status read_node_driver(JsonValue& value, core::NodeVolumeLimits& limits) {
  std::string name;
  std::optional<std::int32_t> most;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, name);
    if (key != "allocatable") return {};
    return each_field(field, [&](std::string_view part, JsonValue& count) -> Status {
      return part == "count" ? read(count, most.emplace()) : Status();
    });
  }));
  if (most && limits.most.size() <= core::kMaxDrivers) {
    limits.most.insert_or_assign(std::move(name), *most);
  }
  return {};
}

Result<core::AuxObject> read_limits(const Sections& object) {
  core::NodeVolumeLimits limits;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "spec") return {};
    return each_field(field, [&](std::string_view name, JsonValue& list) -> Status {
      if (name != "drivers") return {};
      limits.most.clear();
      return each_element(
          list, [&](JsonValue& element) -> Status { return read_node_driver(element, limits); });
    });
  }));
  limits.node = object.meta.name;
  return limits;
}

Result<core::AuxObject> read_attachment(const Sections& object) {
  core::Attachment out;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "spec") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      if (name == "attacher") return read(part, out.driver);
      if (name == "nodeName") return read(part, out.node);
      if (name != "source") return {};
      return each_field(part, [&](std::string_view kind, JsonValue& source) -> Status {
        return kind == "persistentVolumeName" ? read(source, out.volume) : Status();
      });
    });
  }));
  out.name = object.meta.name;
  return out;
}

Status read_budget_status(JsonValue& value, core::Budget& budget) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "disruptionsAllowed") return read(field, budget.allowed);
    if (key != "disruptedPods") return {};
    budget.disrupted.clear();
    return each_field(field, [&](std::string_view pod, JsonValue& /*since*/) -> Status {
      if (budget.disrupted.size() < kMaxTexts) budget.disrupted.emplace_back(pod);
      return {};
    });
  });
}

Result<core::AuxObject> read_budget(const Sections& object) {
  core::Budget budget;
  budget.selector.nothing = true;  // default if the selector is absent
  Unsupported unsupported;
  STOWAGE_TRY_VOID(each_section(object, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "status") return read_budget_status(field, budget);
    if (key != "spec") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      if (name != "selector") return {};
      return read_label_selector(part, budget.selector, unsupported);
    });
  }));
  STOWAGE_TRY_VOID(understood(unsupported));
  budget.name = full_name(object.meta);
  return budget;
}

Result<core::AuxObject> read_namespace(const Sections& object) {
  STOWAGE_TRY_VOID(each_section(object, [](std::string_view, JsonValue&) -> Status { return {}; }));
  return core::Namespace{.name = object.meta.name, .labels = std::move(object.meta.labels)};
}

// The memory of an auxiliary object besides its names, and its limit.
struct Weight {
  std::size_t bytes = 0;
  std::size_t most = core::kMaxAuxObjectBytes;
};
Weight weight(const core::Namespace& it) { return {core::rule_bytes(it.labels)}; }
Weight weight(const core::Claim& it) { return {it.selector ? core::rule_bytes(*it.selector) : 0}; }
Weight weight(const core::Volume& it) {
  const std::size_t terms = it.affinity ? core::rule_bytes(std::span(*it.affinity)) : 0;
  return {core::rule_bytes(it.labels) + terms + it.handle.size()};
}
Weight weight(const core::StorageClass& it) { return {core::rule_bytes(std::span(it.topologies))}; }
Weight weight(const core::StorageCapacity& it) {
  return {it.nodes ? core::rule_bytes(*it.nodes) : 0};
}
Weight weight(const core::Budget& it) {
  return {core::rule_bytes(it.selector), core::kMaxBudgetBytes};
}
Weight weight(const core::NodeVolumeLimits& it) { return {it.most.size(), core::kMaxDrivers}; }
Weight weight(const core::StorageDriver& /*it*/) { return {}; }
Weight weight(const core::Attachment& /*it*/) { return {}; }

// A truncated auxiliary object would be misunderstood, so it is an error.
Status within_limits(const core::AuxObject& aux_object) {
  const Weight found = std::visit([](const auto& it) { return weight(it); }, aux_object);
  if (found.bytes <= found.most) return {};
  if (std::holds_alternative<core::NodeVolumeLimits>(aux_object)) {
    return fail(fmt::format("it has more than {} drivers", found.most));
  }
  return fail(fmt::format("it has more than {} KiB of labels and selectors", found.most >> 10U));
}

Result<core::AuxObject> read_aux_object(AuxKind kind, const Sections& object) {
  switch (kind) {
    case AuxKind::name_space: return read_namespace(object);
    case AuxKind::claim: return read_claim(object);
    case AuxKind::volume: return read_volume(object);
    case AuxKind::storage_class: return read_class(object);
    case AuxKind::storage_driver: return read_driver(object);
    case AuxKind::storage_capacity: return read_capacity(object);
    case AuxKind::node_volume_limits: return read_limits(object);
    case AuxKind::attachment: return read_attachment(object);
    case AuxKind::budget: return read_budget(object);
  }
  return fail("unknown kind of object");
}

Result<std::string> name_of(AuxKind kind, const Metadata& meta) {
  if (meta.name.empty()) return fail("metadata.name: missing");
  const bool namespaced =
      kind == AuxKind::claim || kind == AuxKind::storage_capacity || kind == AuxKind::budget;
  return namespaced ? full_name(meta) : meta.name;
}

}  // namespace

Result<DecodedAuxObject> Decoder::aux_object(AuxKind kind, std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxObjectBytes));
  Metadata meta;
  STOWAGE_TRY(aux_object, read_aux_object(kind, {.meta = meta, .fields = fields}));
  STOWAGE_TRY_VOID(text_.close());
  STOWAGE_TRY_VOID(within_limits(aux_object));
  STOWAGE_TRY(name, name_of(kind, meta));
  return DecodedAuxObject{.name = std::move(name),
                          .resource_version = std::move(meta.resource_version),
                          .aux_object = std::move(aux_object)};
}

Result<std::string> Decoder::aux_object_name(AuxKind kind, std::string_view json) {
  ObjectIdentity found = identity(json);
  if (found.name.empty()) return fail("metadata.name: missing, or cannot be read");
  Metadata meta;
  meta.ns = std::move(found.ns);
  meta.name = std::move(found.name);
  meta.uid = std::move(found.uid);
  return name_of(kind, meta);
}

}  // namespace stowage::codec
