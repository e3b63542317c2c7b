// What is on a machine that matters for giving cards to containers: files, no programs are run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/runtime_config.h"
#include "plugin/nvidia_spec.h"

namespace stowage::doctor {

// A file that was found: its content, or why it cannot be read.
template <typename Content>
struct Read {
  std::string file;
  Result<Content> content;
};

struct NodeFacts {
  // /proc/driver/nvidia/version; unset: the driver is not loaded.
  std::optional<std::string> driver;
  bool control_device = false;  // /dev/nvidiactl

  enum class Runtime : std::uint8_t { none, containerd, crio };
  Runtime runtime = Runtime::none;
  // In the order in which the runtime reads them; the first is its main file.
  std::vector<Read<RuntimeConfig>> runtime_files;
  std::optional<Read<ToolkitConfig>> toolkit;

  std::vector<Read<plugin::NvidiaSpec>> nvidia_specs;
  std::vector<std::string> missing_paths;  // on this machine, of those that the first spec names

  bool device_plugins = false;               // the kubelet's folder exists
  bool kubelet = false;                      // and the kubelet listens there
  bool podresources = false;                 // its socket exists
  std::vector<std::string> foreign_plugins;  // sockets of others that may serve nvidia.com/gpu
};

// `root`: where the machine's file system is mounted: "" for this one.
[[nodiscard]] NodeFacts read_node(const std::string& root);

}  // namespace stowage::doctor
