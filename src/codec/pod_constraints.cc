#include "codec/pod_constraints.h"

#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace stowage::codec {
namespace {

using core::Disk;
using core::Requirement;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

Status read_term(JsonValue& value, TermParts& out, Unsupported& unsupported) {
  core::PodTerm& term = out.term;
  term.selector.nothing = true;  // default if the selector is absent
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "labelSelector") return read_label_selector(field, term.selector, unsupported);
    if (key == "namespaces") return read_strings(field, term.namespaces);
    if (key == "namespaceSelector") {
      return read_label_selector(field, term.namespace_selector.emplace(), unsupported);
    }
    if (key == "topologyKey") return read(field, term.topology_key);
    if (key == "matchLabelKeys") return read_strings(field, out.match_keys);
    if (key == "mismatchLabelKeys") return read_strings(field, out.mismatch_keys);
    return {};
  });
}

Status read_required(JsonValue& value, std::vector<TermParts>& out, Unsupported& unsupported) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() > core::kMaxPodTerms) return {};
    return read_term(element, out.emplace_back(), unsupported);
  });
}

Status read_preferred(JsonValue& value, std::vector<TermParts>& out) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() > core::kMaxPodTerms) return {};
    TermParts wish;
    // A preference that is not supported does not prevent placement.
    Unsupported not_understood;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "weight") return read(field, wish.term.weight);
      if (key == "podAffinityTerm") return read_term(field, wish, not_understood);
      return {};
    }));
    if (not_understood.empty()) out.push_back(std::move(wish));
    return {};
  });
}

struct PodTerms {
  std::vector<TermParts>& required;
  std::vector<TermParts>& preferred;
};

Status read_pod_terms(JsonValue& value, PodTerms out, Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == kRequired) return read_required(field, out.required, unsupported);
    if (key == kPreferred) return read_preferred(field, out.preferred);
    return {};
  });
}

Status read_spread_field(std::string_view key, JsonValue& field, SpreadParts& out,
                         Unsupported& unsupported) {
  core::SpreadRule& rule = out.rule;
  if (key == "topologyKey") return read(field, rule.topology_key);
  if (key == "maxSkew") return read(field, rule.max_skew);
  if (key == "minDomains") return read(field, rule.min_domains);
  if (key == "labelSelector") return read_label_selector(field, rule.selector, unsupported);
  if (key == "matchLabelKeys") return read_strings(field, out.match_keys);
  if (key == "whenUnsatisfiable") {
    STOWAGE_TRY(word, field.text());
    rule.hard = word != "ScheduleAnyway";
  } else if (key == "nodeAffinityPolicy") {
    STOWAGE_TRY(word, field.text());
    rule.honour_affinity = word != "Ignore";
  } else if (key == "nodeTaintsPolicy") {
    STOWAGE_TRY(word, field.text());
    rule.honour_taints = word == "Honor";
  }
  return {};
}

// A volume while it is read: its name may follow its source.
struct VolumeParts {
  std::string name;
  std::string claim;
  bool ephemeral = false;
  std::optional<Disk> disk;
};

Status read_disk(JsonValue& value, Disk::Kind kind, std::string_view id_key, Disk& out) {
  out = Disk{.kind = kind};
  std::string pool = "rbd";  // default of the API server
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == id_key) return read(field, out.id);
    if (key == "readOnly") return read(field, out.read_only);
    if (kind != Disk::Kind::rbd) return {};
    if (key == "pool") return read(field, pool);
    return key == "monitors" ? read_strings(field, out.monitors) : Status();
  }));
  if (kind == Disk::Kind::rbd) out.id = fmt::format("{}/{}", pool, out.id);
  return {};
}

Status read_volume_field(std::string_view key, JsonValue& field, VolumeParts& out) {
  if (key == "name") return read(field, out.name);
  if (key == "persistentVolumeClaim") {
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      return name == "claimName" ? read(part, out.claim) : Status();
    });
  }
  if (key == "ephemeral") out.ephemeral = true;
  if (key == "gcePersistentDisk") {
    return read_disk(field, Disk::Kind::gce, "pdName", out.disk.emplace());
  }
  if (key == "awsElasticBlockStore") {
    return read_disk(field, Disk::Kind::aws, "volumeID", out.disk.emplace());
  }
  // Pods may not share an IQN, whatever their target and LUN.
  if (key == "iscsi") return read_disk(field, Disk::Kind::iscsi, "iqn", out.disk.emplace());
  if (key == "rbd") return read_disk(field, Disk::Kind::rbd, "image", out.disk.emplace());
  return {};
}

// Merges only labels that the pod has, and only into a selector that is present.
void merge_keys(const std::vector<std::string>& keys, Requirement::Op op,
                const core::Labels& labels, core::LabelSelector& selector) {
  if (selector.nothing || keys.empty()) return;
  std::set<std::string> merged;
  for (const Requirement& have : selector.all) {
    const auto label = labels.find(have.key);
    if (have.op != op || label == labels.end()) continue;
    if (have.values.size() == 1 && have.values[0] == label->second) merged.insert(have.key);
  }
  for (const std::string& key : keys) {
    const auto label = labels.find(key);
    if (label == labels.end() || !merged.insert(key).second) continue;
    selector.all.push_back({.key = key, .op = op, .values = {label->second}});
  }
}

std::vector<core::PodTerm> settle_terms(std::vector<TermParts> parts, const core::Labels& labels,
                                        std::string_view ns) {
  std::vector<core::PodTerm> terms;
  terms.reserve(parts.size());
  for (TermParts& part : parts) {
    core::PodTerm& term = part.term;
    merge_keys(part.match_keys, Requirement::Op::in, labels, term.selector);
    merge_keys(part.mismatch_keys, Requirement::Op::not_in, labels, term.selector);
    if (term.namespaces.empty() && !term.namespace_selector) term.namespaces.emplace_back(ns);
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace

Status read_affinity(JsonValue& value, core::NodeRules& rules, ConstraintParts& parts,
                     Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "nodeAffinity") return read_node_affinity(field, rules, unsupported);
    if (key == "podAffinity") {
      return read_pod_terms(field, {parts.affinity, parts.preferred}, unsupported);
    }
    if (key == "podAntiAffinity") {
      return read_pod_terms(field, {parts.anti_affinity, parts.preferred_anti}, unsupported);
    }
    return {};
  });
}

Status read_spread(JsonValue& value, ConstraintParts& parts, Unsupported& unsupported) {
  parts.spread.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (parts.spread.size() > core::kMaxSpreadRules) return {};
    SpreadParts one;
    one.rule.selector.nothing = true;  // default if the selector is absent
    Unsupported not_understood;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      return read_spread_field(key, field, one, not_understood);
    }));
    if (one.rule.hard) {
      for (std::string& words : not_understood) {
        if (unsupported.size() < kMaxUnsupported) unsupported.push_back(std::move(words));
      }
    } else if (!not_understood.empty()) {
      return {};  // a preference
    }
    parts.spread.push_back(std::move(one));
    return {};
  });
}

Status read_volumes(JsonValue& value, ConstraintParts& parts) {
  parts.claims.clear();
  parts.disks.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (parts.claims.size() > core::kMaxVolumes) return {};
    VolumeParts volume;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      return read_volume_field(key, field, volume);
    }));
    if (volume.disk && parts.disks.size() <= core::kMaxDisks) {
      parts.disks.push_back(std::move(*volume.disk));
    }
    if (volume.ephemeral) {
      parts.claims.push_back({.name = std::move(volume.name), .ephemeral = true});
    } else if (!volume.claim.empty()) {
      parts.claims.push_back({.name = std::move(volume.claim)});
    }
    return {};
  });
}

Status read_host_ports(JsonValue& value, std::vector<core::HostPort>& ports) {
  return each_element(value, [&](JsonValue& element) -> Status {
    if (ports.size() > core::kMaxHostPorts) return {};
    core::HostPort port{.protocol = "TCP"};
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "hostPort") return read(field, port.port);
      if (key == "hostIP") return read(field, port.ip);
      return key == "protocol" ? read(field, port.protocol) : Status();
    }));
    if (port.port > 0) ports.push_back(std::move(port));
    return {};
  });
}

core::PodConstraints settle(ConstraintParts parts, core::Labels labels, const PodIdentity& pod) {
  core::PodConstraints constraints;
  constraints.affinity = settle_terms(std::move(parts.affinity), labels, pod.ns);
  constraints.anti_affinity = settle_terms(std::move(parts.anti_affinity), labels, pod.ns);
  constraints.preferred = settle_terms(std::move(parts.preferred), labels, pod.ns);
  constraints.preferred_anti = settle_terms(std::move(parts.preferred_anti), labels, pod.ns);
  for (SpreadParts& part : parts.spread) {
    merge_keys(part.match_keys, Requirement::Op::in, labels, part.rule.selector);
    constraints.spread.push_back(std::move(part.rule));
  }
  std::set<std::pair<std::string, bool>> used;  // two volumes of the pod may use one claim
  for (core::ClaimUse& use : parts.claims) {
    if (use.ephemeral) use.name = fmt::format("{}-{}", pod.name, use.name);
    if (used.emplace(use.name, use.ephemeral).second) constraints.claims.push_back(std::move(use));
  }
  constraints.disks = std::move(parts.disks);
  constraints.labels = std::move(labels);
  return constraints;
}

}  // namespace stowage::codec
