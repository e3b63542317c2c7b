// The objects of metrics.nvidia.com/v1alpha1, made from what the agents tell, and their JSON. Pure:
// the time is given, and equal arguments give equal bytes.
//
// The first server of this API wrote objects that no Kubernetes client reads well: an apiVersion
// without its group, and no name. Its clients shall not notice that they talk to another one, and
// kubectl shall work. So there are two styles; fields, their order and their form are the same in
// both, and each is read by those who expect it:
//
//               original                                  kubernetes
//   object      "apiVersion":"v1alpha1" "apiVersion":"metrics.nvidia.com/v1alpha1" list
//   "kind":"List","apiVersion":"v1"           "kind":"GpuInfoList", with the group watch
//   {"Type":"SYNCED"|"DELETED","Object":..}   {"type":"ADDED"|..,"object":..} load        -
//   status.device_load, status.device_sick
//
// `metadata`, with a name, is new in both: who decodes the original's fields passes over it.
// request.h says who gets which style.
#pragma once

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
#include "reports/book.h"

namespace stowage::metricsapi {

inline constexpr std::string_view kGroup = "metrics.nvidia.com";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kGroupVersion = "metrics.nvidia.com/v1alpha1";

enum class Resource : std::uint8_t { pod_resources, gpu_infos };
inline constexpr std::size_t kResources = 2;
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
  std::string model;  // trimmed, in small letters
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
  std::vector<ContainerDevices> containers;  // as the pod has them, those with devices; none: gone
  std::int64_t changed_unix = 0;
  std::uint64_t version = 0;
  friend bool operator==(const PodResource&, const PodResource&) = default;
};
// Of a pod: "<namespace>.<name>". A namespace has no dots, so it can be taken apart again.
[[nodiscard]] std::string object_name(std::string_view ns, std::string_view pod);

// A card, beyond what the original tells.
struct CardState {
  std::string id;
  std::int32_t memory_mib = 0;
  bool healthy = true;
  std::string sickness;
  std::optional<codec::ReportedLoad> load;
  friend bool operator==(const CardState&, const CardState&) = default;
};

struct GpuInfo {
  std::string node;
  std::vector<Device> devices;                             // by id
  std::map<std::string, std::vector<std::string>> models;  // ids of each model, sorted
  std::vector<std::string> busy;                           // ids, sorted
  Health health = Health::unknown;
  std::int64_t reported_unix = 0;  // when the cards were told; 0: never
  std::int64_t heard_unix = 0;     // 0: never
  std::string agent;
  std::vector<CardState> cards;  // by id
  std::uint64_t version = 0;
  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

// A node whose cards are known by another way than an agent of ours.
struct OtherNode {
  std::string node;
  std::vector<codec::ReportedCard> cards;
  friend bool operator==(const OtherNode&, const OtherNode&) = default;
};

// "NVIDIA A100 " is "nvidia a100".
[[nodiscard]] std::string normal_model(std::string_view model);

[[nodiscard]] GpuInfo gpu_info(const reports::NodePage& page, const Now& now);
[[nodiscard]] GpuInfo gpu_info(const OtherNode& node);
// Unset if the pod has no device that is a card, or a part of one.
[[nodiscard]] std::optional<PodResource> pod_resource(const reports::NodePage& page,
                                                      const codec::ReportedPod& pod);

// Whatever the API shows.
using Thing = std::variant<PodResource, GpuInfo>;
[[nodiscard]] Resource resource_of(const Thing& thing);
[[nodiscard]] std::string name_of(const Thing& thing);
[[nodiscard]] std::uint64_t version_of(const Thing& thing);

// One object, as a value of what is being written. A PodResource without containers is the last
// word about a pod that is no more.
void put_object(base::JsonWriter& json, const Thing& thing, Style style);
// {"name":..,"resourceVersion":..}
void put_metadata(base::JsonWriter& json, std::string_view name, std::uint64_t version);

}  // namespace stowage::metricsapi
