// What an agent tells the controller, one JSON object to a line; docs/agent.md describes it.
//
//   {"version":1,"node":"n1","agent":"0.1.0"}          first, once
//   {"cards":[{"id":"GPU-..","index":0,...}]}          all cards of the node, when one changed
//   {"load":[{"card":0,"busyPermille":830,...}]}       the newest sample of these cards
//   {"pods":{"all":true,"now":[...],"gone":["ns/p"]}}  who has which devices; `all`: and nobody
//   else
//   {}                                                 still there
//
// Every line may carry several of them. What a line does not speak of stays as it was.
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

// The stream: GET of this path, upgraded to this protocol.
inline constexpr const char* kReportsPath = "/agent/v1/reports";
inline constexpr const char* kReportsProtocol = "stowage-agent/1";
inline constexpr std::int32_t kReportVersion = 1;
inline constexpr std::size_t kReportLineMax = std::size_t{2} << 20U;
// What a report may take in memory once it is read. A line can be made of little else than empty
// objects, and each of them takes twenty times as much as its text.
inline constexpr std::size_t kReportBytesMax = std::size_t{4} << 20U;
inline constexpr std::size_t kReportCardsMax = 64;
inline constexpr std::size_t kReportPodsMax = 4096;     // of a node
inline constexpr std::size_t kReportDevicesMax = 4096;  // of a pod

struct ReportedCard {
  std::string id;
  std::int32_t index = 0;
  std::string model;   // as the driver says
  std::string brand;   // the same
  std::string bus_id;  // PCI
  std::int32_t memory_mib = 0;
  bool healthy = true;
  std::string sickness;  // why not, in words
  friend bool operator==(const ReportedCard&, const ReportedCard&) = default;
};

// Unset: the card does not say.
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
  std::vector<std::string> ids;  // as the device plugin names them
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
  bool all = false;  // `now` is everybody
  std::vector<ReportedPod> now;
  std::vector<std::string> gone;  // "namespace/name"
  friend bool operator==(const ReportedPods&, const ReportedPods&) = default;
};

struct AgentReport {
  std::int32_t version = 0;  // 0: not said in this line
  std::string node;
  std::string agent;  // its version
  std::optional<std::vector<ReportedCard>> cards;
  std::vector<ReportedLoad> load;
  std::optional<ReportedPods> pods;
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

// What it takes in memory, about: with the room that its lists have in reserve.
[[nodiscard]] std::size_t bytes_of(const ReportedPod& pod);
[[nodiscard]] std::size_t bytes_of(const ReportedCard& card);

// With the line break.
[[nodiscard]] std::string agent_report(const AgentReport& report);

// Reads lines; buffers are kept for the next. Fields that are not known are passed over. Memory is
// counted as it is taken: reading ends where a report becomes too large.
class AgentReportReader {
 public:
  explicit AgentReportReader(std::size_t bytes_max = kReportBytesMax) : bytes_max_(bytes_max) {}
  [[nodiscard]] Result<AgentReport> read(std::string_view line);

 private:
  std::size_t bytes_max_;
  JsonText text_;
};

}  // namespace stowage::codec
