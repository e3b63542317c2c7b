// CDI specifications (Container Device Interface): what a container runtime adds to a container for
// a device. Pure: values, and their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::plugin {

struct CdiDeviceNode {
  std::string path;  // in the container
  std::string host_path;
  std::string type;         // "c"
  std::string permissions;  // "rw"
  std::optional<std::int64_t> major;
  std::optional<std::int64_t> minor;
  std::optional<std::int64_t> file_mode;
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  friend bool operator==(const CdiDeviceNode&, const CdiDeviceNode&) = default;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::string type;
  std::vector<std::string> options;
  friend bool operator==(const CdiMount&, const CdiMount&) = default;
};

struct CdiHook {
  std::string name;
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;
  friend bool operator==(const CdiHook&, const CdiHook&) = default;
};

struct CdiEdits {
  std::vector<std::string> env;  // "NAME=value"
  std::vector<CdiDeviceNode> device_nodes;
  std::vector<CdiMount> mounts;
  std::vector<CdiHook> hooks;
  std::vector<std::int64_t> additional_gids;
  friend bool operator==(const CdiEdits&, const CdiEdits&) = default;
};

// Appends those that are not there yet. An environment variable replaces an earlier one of its
// name.
void add(CdiEdits& to, const CdiEdits& more);

// A specification with one device of kind stowage.dev/gpu, as JSON. The version is 0.5.0, which all
// runtimes with CDI read, or the lowest that has the fields in use.
[[nodiscard]] std::string cdi_spec(std::string_view device, const CdiEdits& edits);

}  // namespace stowage::plugin
