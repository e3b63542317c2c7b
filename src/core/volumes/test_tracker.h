// For tests: claims, volumes and pods in one line each, and a tracker with a few classes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/volumes/volume_tracker.h"

namespace stowage::core::testing {

inline constexpr auto kRwo = static_cast<AccessModes>(AccessMode::rwo);
inline constexpr auto kRwop = static_cast<AccessModes>(AccessMode::rwop);

inline NodeTerm label_in(const std::string& key, std::vector<std::string> values) {
  return {.labels = {{key, Requirement::Op::in, std::move(values)}}, .fields = {}};
}

// In the namespace "ns", with the name as uid.
inline PodSpec claimant(const std::string& name, const std::vector<std::string>& claims = {}) {
  PodSpec spec{.uid = name, .name = "ns/" + name};
  for (const auto& claim : claims) spec.constraints.claims.push_back({.name = claim});
  return spec;
}
inline PodSpec pod_with(const std::string& name, const Disk& disk) {
  PodSpec spec = claimant(name);
  spec.constraints.disks = {disk};
  return spec;
}

inline Claim bound(const std::string& name, const std::string& volume) {
  return {.name = "ns/" + name,
          .uid = name,
          .volume = volume,
          .storage_class = "local",
          .has_class = true,
          .bound = true,
          .modes = kRwo};
}
inline Claim waiting(const std::string& name, std::int64_t bytes,
                     const std::string& storage_class) {
  return {.name = "ns/" + name,
          .uid = name,
          .storage_class = storage_class,
          .has_class = true,
          .bytes = bytes,
          .modes = kRwo};
}
inline Volume volume(const std::string& name, std::int64_t bytes = 10) {
  return {.name = name, .storage_class = "local", .bytes = bytes, .modes = kRwo};
}
inline Volume csi(const std::string& name, const std::string& driver) {
  Volume made = volume(name);
  made.driver = driver;
  made.handle = "handle-of-" + name;
  return made;
}
inline Volume on_node(Volume made, const std::string& node) {
  made.affinity = {label_in("host", {node})};
  return made;
}

// Classes "local" (static volumes) and "made" (provisioned by the driver "csi"), which wait for
// their first consumer, and "at-once". Nodes "a" and "b" with a label "host".
class TestTracker {
 protected:
  TestTracker() {
    tracker_.set(StorageClass{
        .name = "local", .provisioner = "kubernetes.io/no-provisioner", .waits = true});
    tracker_.set(StorageClass{.name = "made", .provisioner = "csi", .waits = true});
    tracker_.set(StorageClass{.name = "at-once", .provisioner = "csi"});
  }
  static NodeSpec node(const std::string& name, Labels labels = {}) {
    labels["host"] = name;
    return {.name = name, .labels = std::move(labels)};
  }
  std::string check(const PodSpec& spec, const NodeSpec& on) {
    const auto needs = tracker_.look_up(spec);
    if (!needs.trouble.empty()) return needs.trouble;
    return to_string(tracker_.filter().check(needs, on));
  }
  std::string check(const PodSpec& spec, const std::string& on) { return check(spec, node(on)); }
  // "c=v d=": claim c is bound to v, and a volume is provisioned for d. "-" if the node does not
  // fit.
  std::string plan(const PodSpec& spec, const NodeSpec& on) {
    const auto needs = tracker_.look_up(spec);
    if (!needs.trouble.empty() || tracker_.filter().check(needs, on) != ReasonCode::none)
      return "-";
    std::string text;
    for (const auto& step : tracker_.filter().plan(needs, on)) {
      text += (text.empty() ? "" : " ") + step.claim.substr(3) + "=" + step.volume;
    }
    return text;
  }
  std::string plan(const PodSpec& spec, const std::string& on) { return plan(spec, node(on)); }

  VolumeTracker tracker_;
};

}  // namespace stowage::core::testing
