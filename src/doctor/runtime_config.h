// What the configuration files of container runtimes and of NVIDIA's toolkit say about cards.
// Pure: texts in, values out. Unknown keys are ignored; a key of another type counts as absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::doctor {

// containerd or CRI-O. A value that no file sets is unset or empty.
struct RuntimeConfig {
  std::optional<bool> cdi;  // enable_cdi of containerd. CRI-O has no such switch.
  std::optional<std::vector<std::string>> cdi_folders;
  std::string default_runtime;
  std::vector<std::string> nvidia_runtimes;  // names of those that run NVIDIA's
  int version = 0;                           // of containerd's format: 2 is 1.x's, 3 is 2.x's
  std::vector<std::string> imports;          // other files of containerd, as patterns
  friend bool operator==(const RuntimeConfig&, const RuntimeConfig&) = default;
};

[[nodiscard]] Result<RuntimeConfig> parse_containerd(std::string_view text);
[[nodiscard]] Result<RuntimeConfig> parse_crio(std::string_view text);
// The values of `later` replace those of `config`; runtimes are added.
void merge(RuntimeConfig& config, const RuntimeConfig& later);

// The table of containerd's file that enable_cdi belongs to.
[[nodiscard]] std::string cdi_table(int version);

// NVIDIA's config.toml.
struct ToolkitConfig {
  // May a container that is not privileged choose cards by NVIDIA_VISIBLE_DEVICES?
  bool accepts_variable = true;
  friend bool operator==(const ToolkitConfig&, const ToolkitConfig&) = default;
};
[[nodiscard]] Result<ToolkitConfig> parse_toolkit(std::string_view text);

}  // namespace stowage::doctor
