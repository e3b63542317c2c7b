// The messages of an agent to the controller, one JSON object per line; docs/agent.md describes
// them.
//
//   {"version":1,"node":"n1","agent":"0.1.0"}          first, once
//   {"cards":[{"id":"GPU-..","index":0,...}]}          all cards of the node, when one changed
//   {"load":[{"card":0,"busyPermille":830,...}]}       the newest sample of these cards
//   {"pods":{"all":true,"now":[...],"gone":["ns/p"]}}  devices of pods; `all`: no other pods exist
//   {"plugin":{"registered":true,"resources":[...]}}   the agent's device plugin, when it changed
//   {}                                                 keep-alive
//
// A line may contain several of these fields. Data that a line does not mention is unchanged, with
// one exception: if the first line has no plugin, the agent has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"

namespace stowage::codec {

// The stream: a GET request of this path, upgraded to this protocol.
inline constexpr const char* kReportsPath = "/agent/v1/reports";
inline constexpr const char* kReportsProtocol = "stowage-agent/1";
inline constexpr std::int32_t kReportVersion = 1;
inline constexpr std::size_t kReportLineMax = std::size_t{2} << 20U;
// Memory limit of a decoded report. A line may consist mostly of empty objects, and each of them
// takes twenty times the memory of its text.
inline constexpr std::size_t kReportBytesMax = std::size_t{4} << 20U;
inline constexpr std::size_t kReportCardsMax = 64;
inline constexpr std::size_t kReportPodsMax = 4096;     // per node
inline constexpr std::size_t kReportDevicesMax = 4096;  // per pod
inline constexpr std::size_t kReportResourcesMax = 64;  // of the device plugin

struct ReportedCard {
  std::string id;
  std::int32_t index = 0;
  std::string model;   // as reported by the driver
  std::string brand;   // the same
  std::string bus_id;  // PCI
  std::int32_t memory_mib = 0;
  bool healthy = true;
  std::string unhealthy_reason;  // why it is unhealthy
  friend bool operator==(const ReportedCard&, const ReportedCard&) = default;
};

// Unset: the card does not report the value.
struct ReportedLoad {
  std::int32_t card = 0;  // its index
  std::optional<std::int32_t> busy_permille;
  std::optional<std::int32_t> memory_mib;  // in use
  std::optional<std::int32_t> power_milliwatt;
  std::optional<std::int32_t> celsius;
  friend bool operator==(const ReportedLoad&, const ReportedLoad&) = default;
};

struct ReportedDevices {
  std::string resource;          // "nvidia.com/gpu"
  std::vector<std::string> ids;  // device ids of the plugin
  friend bool operator==(const ReportedDevices&, const ReportedDevices&) = default;
};
struct ReportedContainer {
  std::string name;
  std::vector<ReportedDevices> devices;
  friend bool operator==(const ReportedContainer&, const ReportedContainer&) = default;
};
struct ReportedPod {
  std::string ns;
  std::string name;
  std::vector<ReportedContainer> containers;
  friend bool operator==(const ReportedPod&, const ReportedPod&) = default;
};
struct ReportedPods {
  bool all = false;  // `now` is the complete list
  std::vector<ReportedPod> now;
  std::vector<std::string> gone;  // "namespace/name"
  friend bool operator==(const ReportedPods&, const ReportedPods&) = default;
};

// The device plugin of the agent.
struct ReportedPlugin {
  bool registered = false;             // with the kubelet, for all of its resources
  std::vector<std::string> resources;  // which it serves, "stowage.dev/attachment"
  friend bool operator==(const ReportedPlugin&, const ReportedPlugin&) = default;
};

struct AgentReport {
  std::int32_t version = 0;  // 0: not in this line
  std::string node;
  std::string agent;  // its version
  std::optional<std::vector<ReportedCard>> cards;
  std::vector<ReportedLoad> load;
  std::optional<ReportedPods> pods;
  std::optional<ReportedPlugin> plugin;
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

// Approximate memory use, including reserved space of its lists.
[[nodiscard]] std::size_t bytes_of(const ReportedPod& pod);
[[nodiscard]] std::size_t bytes_of(const ReportedCard& card);
[[nodiscard]] std::size_t bytes_of(const ReportedPlugin& plugin);

// Including the line break.
[[nodiscard]] std::string agent_report(const AgentReport& report);

// Reads lines and reuses its buffers. Unknown fields are skipped. Memory is counted while it is
// allocated: reading fails when a report becomes too large.
class AgentReportReader {
 public:
  explicit AgentReportReader(std::size_t bytes_max = kReportBytesMax) : bytes_max_(bytes_max) {}
  [[nodiscard]] Result<AgentReport> read(std::string_view line);

 private:
  std::size_t bytes_max_;
  JsonText text_;
};

}  // namespace stowage::codec
