#include "doctor/runtime_config.h"

#include <algorithm>

// Header only: the library of Debian is built with exceptions.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

namespace stowage::doctor {
namespace {

constexpr std::string_view kNvidiaRuntime = "nvidia-container-runtime";
// Of the formats 1, 2 and 3.
constexpr std::string_view kOldestPlugin = "cri";
constexpr std::string_view kOldPlugin = "io.containerd.grpc.v1.cri";
constexpr std::string_view kPlugin = "io.containerd.cri.v1.runtime";

Result<toml::table> parse(std::string_view text) {
  toml::parse_result read = toml::parse(text);
  if (read) return std::move(read).table();
  const toml::parse_error& error = read.error();
  return fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
}

std::vector<std::string> texts(const toml::array& array) {
  std::vector<std::string> out;
  for (const toml::node& node : array) {
    if (auto text = node.value<std::string>()) out.push_back(*std::move(text));
  }
  return out;
}

bool runs_nvidia(std::string_view program) {
  return program.substr(program.rfind('/') + 1).starts_with(kNvidiaRuntime);
}

// `program`: the key of a runtime's table that names its program, as a path below it.
template <typename Program>
void read_runtimes(const toml::table* runtimes, const Program& program, RuntimeConfig& config) {
  if (runtimes == nullptr) return;
  for (const auto& [name, runtime] : *runtimes) {
    const toml::table* const table = runtime.as_table();
    if (table == nullptr || !runs_nvidia(program(*table))) continue;
    config.nvidia_runtimes.emplace_back(name.str());
  }
  std::sort(config.nvidia_runtimes.begin(), config.nvidia_runtimes.end());
}

void read_cdi_folders(const toml::table& table, RuntimeConfig& config) {
  if (const toml::array* folders = table["cdi_spec_dirs"].as_array()) {
    config.cdi_folders = texts(*folders);
  }
}

void read_cri_plugin(const toml::table& plugin, RuntimeConfig& config) {
  if (const auto cdi = plugin["enable_cdi"].value<bool>()) config.cdi = *cdi;
  read_cdi_folders(plugin, config);
  const auto containerd = plugin["containerd"];
  config.default_runtime =
      containerd["default_runtime_name"].value_or<std::string>(std::move(config.default_runtime));
  read_runtimes(
      containerd["runtimes"].as_table(),
      [](const toml::table& runtime) {
        return runtime["options"]["BinaryName"].value_or<std::string>("");
      },
      config);
}

}  // namespace

Result<RuntimeConfig> parse_containerd(std::string_view text) {
  STOWAGE_TRY(file, parse(text));
  RuntimeConfig config;
  config.version = static_cast<int>(
      std::clamp<std::int64_t>(file["version"].value_or<std::int64_t>(1), 0, 1000));
  if (const toml::array* imports = file["imports"].as_array()) config.imports = texts(*imports);
  for (const std::string_view name : {kOldestPlugin, kOldPlugin, kPlugin}) {
    if (const toml::table* plugin = file["plugins"][name].as_table()) {
      read_cri_plugin(*plugin, config);
    }
  }
  return config;
}

Result<RuntimeConfig> parse_crio(std::string_view text) {
  STOWAGE_TRY(file, parse(text));
  RuntimeConfig config;
  const toml::table* const runtime = file["crio"]["runtime"].as_table();
  if (runtime == nullptr) return config;
  read_cdi_folders(*runtime, config);
  config.default_runtime = (*runtime)["default_runtime"].value_or<std::string>("");
  read_runtimes(
      (*runtime)["runtimes"].as_table(),
      [](const toml::table& each) { return each["runtime_path"].value_or<std::string>(""); },
      config);
  return config;
}

void merge(RuntimeConfig& config, const RuntimeConfig& later) {
  if (later.cdi) config.cdi = later.cdi;
  if (later.cdi_folders) config.cdi_folders = later.cdi_folders;
  if (!later.default_runtime.empty()) config.default_runtime = later.default_runtime;
  std::vector<std::string>& all = config.nvidia_runtimes;
  all.insert(all.end(), later.nvidia_runtimes.begin(), later.nvidia_runtimes.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

std::string cdi_table(int version) {
  const std::string_view plugin = version >= 3   ? kPlugin
                                  : version == 2 ? kOldPlugin
                                                 : kOldestPlugin;
  return fmt::format("[plugins.\"{}\"]", plugin);
}

Result<ToolkitConfig> parse_toolkit(std::string_view text) {
  STOWAGE_TRY(file, parse(text));
  return ToolkitConfig{
      .accepts_variable =
          file["accept-nvidia-visible-devices-envvar-when-unprivileged"].value_or(true)};
}

}  // namespace stowage::doctor
