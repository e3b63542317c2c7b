#include "core/volumes/volume_filter.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stowage::core {
namespace {

constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

// A zone or region label, and the label to use on nodes without it.
struct ZoneLabel {
  const char* key;
  const char* instead;
};
constexpr std::array<ZoneLabel, 4> kZoneLabels{{
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

// True if the zone is in a list such as "a__b". A list with an empty entry is invalid and excludes
// nothing.
bool allows_zone(std::string_view zones, const std::string* zone) {
  bool listed = false;
  while (true) {
    const auto end = zones.find("__");
    const std::string_view entry = base::trim(zones.substr(0, end));
    if (entry.empty()) return true;
    listed = listed || (zone != nullptr && entry == *zone);
    if (end == std::string_view::npos) return listed;
    zones.remove_prefix(end + 2);
  }
}

const std::string* find(const Labels& labels, const char* key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool has_zone(const NodeSpec& node) {
  return std::any_of(kZoneLabels.begin(), kZoneLabels.end(), [&](const ZoneLabel& label) {
    return find(node.labels, label.key) != nullptr;
  });
}

bool in_zone(const Volume& volume, const NodeSpec& node) {
  return std::all_of(kZoneLabels.begin(), kZoneLabels.end(), [&](const ZoneLabel& label) {
    const std::string* zones = find(volume.labels, label.key);
    if (zones == nullptr) return true;
    const std::string* zone = find(node.labels, label.key);
    return allows_zone(*zones, zone != nullptr ? zone : find(node.labels, label.instead));
  });
}

// Volumes refer to nodes only by labels; the kubelet does not compare the node's name either.
bool any_matches(const std::vector<NodeTerm>& terms, const NodeSpec& node) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& term) {
    return matches(term, std::string(), node.labels);
  });
}

bool reaches(const Volume& volume, const NodeSpec& node) {
  return !volume.affinity || any_matches(*volume.affinity, node);
}

bool smaller(const Volume& a, const Volume& b) {
  return a.bytes != b.bytes ? a.bytes < b.bytes : a.name < b.name;
}

bool all_modes(const Claim& claim, const Volume& volume) {
  return (claim.modes & ~volume.modes) == 0;
}

}  // namespace

ReasonCode VolumeFilter::check(const VolumeNeeds& needs, const NodeSpec& node,
                               const VolumeUsers::Uids& removed) const {
  if (!needs.any()) return ReasonCode::none;
  if (users_.claim_taken(needs, removed) || users_.disk_taken(*needs.pod, node.name, removed)) {
    return ReasonCode::volume_in_use;
  }
  if (users_.over_limit(needs, node.name, removed)) return ReasonCode::volume_limit;
  if (!reaches_bound(needs, node)) return ReasonCode::volume_node;
  if (!needs.waiting.empty() && !steps_on(needs, node)) return ReasonCode::volume_none;
  return ReasonCode::none;
}

std::vector<ClaimStep> VolumeFilter::plan(const VolumeNeeds& needs, const NodeSpec& node) const {
  if (needs.waiting.empty()) return {};
  std::vector<ClaimStep> steps = steps_on(needs, node).value_or(std::vector<ClaimStep>{});
  std::sort(steps.begin(), steps.end(),
            [](const ClaimStep& a, const ClaimStep& b) { return a.claim < b.claim; });
  return steps;
}

bool VolumeFilter::reaches_bound(const VolumeNeeds& needs, const NodeSpec& node) const {
  if (needs.bound.empty()) return true;
  const bool zoned = has_zone(node);
  return std::all_of(needs.bound.begin(), needs.bound.end(), [&](const Claim* claim) {
    const Volume& volume = *store_.volume(claim->volume);
    if (!reaches(volume, node)) return false;
    // Zones do not apply to ephemeral claims, because VolumeZone does not consider them.
    return !zoned || in_zone(volume, node) || !uses_directly(*needs.pod, *claim);
  });
}

// Volumes that name the claim, or that another pod will bind to it.
std::vector<const Volume*> VolumeFilter::pre_bound(const Claim& claim, const PodSpec& asker) const {
  std::vector<const Volume*> volumes;
  const auto fits = [&](const Volume& volume) {
    return volume.storage_class == claim.storage_class && volume.bytes >= claim.bytes &&
           volume.block == claim.block && !volume.deleting;
  };
  if (const auto* named = store_.volumes_for(claim.name)) {
    for (const auto& name : *named) {
      const Volume& volume = *store_.volume(name);
      const bool same = volume.claim_uid.empty() || volume.claim_uid == claim.uid;
      if (same && fits(volume)) volumes.push_back(&volume);
    }
  }
  if (const auto* reserved = reservations_.by_another(claim.name, asker.uid)) {
    const Volume* volume = store_.volume(reserved->volume);
    const bool free = volume != nullptr && volume->claim.empty();
    if (free && fits(*volume)) volumes.push_back(volume);
  }
  std::sort(volumes.begin(), volumes.end(),
            [](const Volume* a, const Volume* b) { return smaller(*a, *b); });
  return volumes;
}

const Volume* VolumeFilter::volume_for(const Claim& claim, const PodSpec& asker,
                                       const NodeSpec& node, const Chosen& chosen) const {
  const auto taken = [&](const std::string& name) {
    return chosen.contains(name) || reservations_.for_another(name, claim.name, asker.uid);
  };
  bool promise = false;
  for (const Volume* volume : pre_bound(claim, asker)) {
    if (taken(volume->name)) continue;
    if (reaches(*volume, node)) return volume;
    promise = true;
  }
  if (promise) return nullptr;  // the claim must get that volume and no other
  const Reach* of_class = store_.free_volumes(claim.storage_class);
  if (of_class == nullptr) return nullptr;
  const auto accepts = [&](const std::string& name) {
    const Volume& volume = *store_.volume(name);
    return volume.block == claim.block && all_modes(claim, volume) && !taken(name) &&
           (!claim.selector || matches(*claim.selector, volume.labels)) && reaches(volume, node);
  };
  const std::string* best = of_class->smallest(node.labels, claim.bytes, accepts);
  return best == nullptr ? nullptr : store_.volume(*best);
}

bool VolumeFilter::can_be_made(const Claim& claim, const NodeSpec& node) const {
  const StorageClass* of = store_.storage_class(claim.storage_class);
  if (of == nullptr || of->provisioner.empty() || of->provisioner == kNoProvisioner) return false;
  if (!of->topologies.empty() && !any_matches(of->topologies, node)) return false;
  const StorageDriver* driver = store_.driver(of->provisioner);
  if (driver == nullptr || !driver->tells_capacity || claim.bytes <= 0) return true;
  const Reach* capacities = store_.capacities(of->name);
  if (capacities == nullptr) return false;
  const auto reached = [&](const std::string& name) {
    return matches(*store_.capacity(name)->nodes, node.labels);
  };
  return capacities->smallest(node.labels, claim.bytes, reached) != nullptr;
}

std::optional<std::vector<ClaimStep>> VolumeFilter::steps_on(const VolumeNeeds& needs,
                                                             const NodeSpec& node) const {
  std::vector<const Claim*> to_match;
  std::vector<const Claim*> to_make;
  for (const Claim* claim : needs.waiting) {
    const auto* reserved = reservations_.by_another(claim->name, needs.pod->uid);
    const bool making = reserved != nullptr && reserved->volume.empty();
    const std::string& selected =
        claim->selected_node.empty() && making ? reserved->node : claim->selected_node;
    if (!selected.empty() && selected != node.name) return std::nullopt;
    (selected.empty() ? to_match : to_make).push_back(claim);
  }
  std::sort(to_match.begin(), to_match.end(), [](const Claim* a, const Claim* b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->name < b->name;
  });
  std::vector<ClaimStep> steps;
  Chosen chosen;
  for (const Claim* claim : to_match) {
    const Volume* volume = volume_for(*claim, *needs.pod, node, chosen);
    if (volume == nullptr) {
      to_make.push_back(claim);
      continue;
    }
    chosen.insert(volume->name);
    steps.push_back({.claim = claim->name, .volume = volume->name});
  }
  for (const Claim* claim : to_make) {
    if (!can_be_made(*claim, node)) return std::nullopt;
    steps.push_back({.claim = claim->name, .volume = {}});
  }
  return steps;
}

}  // namespace stowage::core
