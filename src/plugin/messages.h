// Messages between the kubelet and a device plugin (v1beta1). Pure functions; what the kubelet
// sends is untrusted and limited in size.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::plugin {

inline constexpr const char* kRegisterMethod = "/v1beta1.Registration/Register";  // the kubelet's
inline constexpr const char* kOptionsMethod = "/v1beta1.DevicePlugin/GetDevicePluginOptions";
inline constexpr const char* kListMethod = "/v1beta1.DevicePlugin/ListAndWatch";
inline constexpr const char* kAllocateMethod = "/v1beta1.DevicePlugin/Allocate";
inline constexpr const char* kPreStartMethod = "/v1beta1.DevicePlugin/PreStartContainer";

// Limits of a request: more than any pod may ask for.
inline constexpr std::size_t kRequestContainersMax = 64;
inline constexpr std::size_t kRequestIdsMax = 4096;
inline constexpr std::size_t kIdBytesMax = 63;

using Ids = std::vector<std::string>;  // of devices

struct Registration {
  std::string endpoint;  // name of our socket in the kubelet's folder
  std::string resource;  // "stowage.dev/attachment"
};
[[nodiscard]] std::string register_request(const Registration& registration);
// Our options: the kubelet calls PreStartContainer before each start of a container.
[[nodiscard]] std::string plugin_options();
// A ListAndWatchResponse with these devices, all healthy and without topology.
[[nodiscard]] std::string device_list(const Ids& ids);

// The devices of each container of an AllocateRequest, and of a PreStartContainerRequest. Sorted;
// an id that appears twice is an error.
[[nodiscard]] Result<std::vector<Ids>> read_allocate_request(std::string_view message);
[[nodiscard]] Result<Ids> read_pre_start_request(std::string_view message);

// The answer for one container: its CDI devices, and the same in an annotation for runtimes that do
// not read the field.
struct Allocation {
  std::vector<std::string> cdi_devices;  // "stowage.dev/gpu=<name>"
  std::map<std::string, std::string> annotations;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
[[nodiscard]] std::string allocate_response(const std::vector<Allocation>& containers);
// A ContainerAllocateResponse, of which the kubelet keeps a copy in its checkpoint. Other fields
// are skipped.
[[nodiscard]] Result<Allocation> read_container_response(std::string_view message);

}  // namespace stowage::plugin
