// The objects of metrics.nvidia.com/v1alpha1, made from agent reports, and their JSON. Pure: the
// time is a parameter, and equal arguments give equal bytes.
//
// The first server of this API wrote objects that Kubernetes clients cannot read well: an
// apiVersion without its group, and no name. Its clients must not notice the new server, and
// kubectl must work. So there are two styles; fields, their order and their format are the same in
// both:
//
//            original                                 kubernetes
//   object   "apiVersion":"v1alpha1"                  "apiVersion":"metrics.nvidia.com/v1alpha1"
//   list     "kind":"List","apiVersion":"v1"          "kind":"GpuInfoList", with the group
//   watch    {"Type":"SYNCED"|"DELETED","Object":..}  {"type":"ADDED"|..,"object":..}
//   load     -                                        status.device_load, status.device_sick
//
// `metadata`, with a name, is new in both: clients of the original ignore it. request.h decides
// which client gets which style.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "codec/agent_report.h"
#include "net/event_loop.h"
#include "reports/report_cache.h"

namespace stowage::metricsapi {

inline constexpr std::string_view kGroup = "metrics.nvidia.com";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kGroupVersion = "metrics.nvidia.com/v1alpha1";

enum class Resource : std::uint8_t { pod_resources, gpu_infos };
inline constexpr std::array kAllResources = {Resource::pod_resources, Resource::gpu_infos};
inline constexpr std::size_t kResources = kAllResources.size();
[[nodiscard]] std::string_view plural(Resource resource);   // "gpuinfos"
[[nodiscard]] std::string_view kind_of(Resource resource);  // "GpuInfo"

enum class Style : std::uint8_t { original, kubernetes };
enum class Health : std::uint8_t { fresh, silent, unknown };

// One moment on both clocks.
struct Now {
  net::Moment steady{};
  std::int64_t unix_nanos = 0;
  [[nodiscard]] std::int64_t unix_seconds() const { return unix_nanos / 1'000'000'000; }
  [[nodiscard]] std::int64_t unix_seconds_of(net::Moment moment) const;
};

struct Device {
  std::string id;
  std::string brand;
  std::string model;  // trimmed, lower-case
  std::string bus_id;
  std::string node;
  friend bool operator==(const Device&, const Device&) = default;
};

struct ContainerDevices {
  std::string name;
  std::vector<Device> devices;  // by id, each once
  friend bool operator==(const ContainerDevices&, const ContainerDevices&) = default;
};

struct PodResource {
  std::string ns;
  std::string name;
  std::string node;
  std::vector<ContainerDevices> containers;  // in the order of the pod, those with devices; none:
                                             // deleted
  std::int64_t changed_unix = 0;
  std::uint64_t version = 0;
  friend bool operator==(const PodResource&, const PodResource&) = default;
};
// Of a pod: "<namespace>.<name>". A namespace has no dots, so the name can be split again.
[[nodiscard]] std::string object_name(std::string_view ns, std::string_view pod);

// Fields of a card that the original does not have.
struct CardState {
  std::string id;
  std::int32_t memory_mib = 0;
  bool healthy = true;
  std::string unhealthy_reason;
  std::optional<codec::ReportedLoad> load;
  friend bool operator==(const CardState&, const CardState&) = default;
};

struct GpuInfo {
  std::string node;
  std::vector<Device> devices;                             // by id
  std::map<std::string, std::vector<std::string>> models;  // ids by model, sorted
  std::vector<std::string> busy;                           // ids, sorted
  Health health = Health::unknown;
  std::int64_t reported_unix = 0;  // when the cards were reported; 0: never
  std::int64_t heard_unix = 0;     // 0: never
  std::string agent;
  std::vector<CardState> cards;  // by id
  std::uint64_t version = 0;
  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

// A node whose cards are known from another source than an agent of ours.
struct OtherNode {
  std::string node;
  std::vector<codec::ReportedCard> cards;
  friend bool operator==(const OtherNode&, const OtherNode&) = default;
};

// "NVIDIA A100 " is "nvidia a100".
[[nodiscard]] std::string normal_model(std::string_view model);

[[nodiscard]] GpuInfo gpu_info(const reports::NodeReport& node_report, const Now& now);
[[nodiscard]] GpuInfo gpu_info(const OtherNode& node);
// Unset if the pod has no device that is a card or a part of one.
[[nodiscard]] std::optional<PodResource> pod_resource(const reports::NodeReport& node_report,
                                                      const codec::ReportedPod& pod);

// An object of the API.
using ApiObject = std::variant<PodResource, GpuInfo>;
[[nodiscard]] Resource resource_of(const ApiObject& object);
[[nodiscard]] std::string name_of(const ApiObject& object);
[[nodiscard]] std::uint64_t version_of(const ApiObject& object);

// Writes one object. A PodResource without containers is the last state of a deleted pod.
void put_object(base::JsonWriter& json, const ApiObject& object, Style style);
// {"name":..,"resourceVersion":..}
void put_metadata(base::JsonWriter& json, std::string_view name, std::uint64_t version);

}  // namespace stowage::metricsapi
