#include "doctor/node_facts.h"

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>

#include <fmt/format.h>

#include "base/file.h"

namespace stowage::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kFilesMax = 64;  // of one folder
// /var/run is often a link to /run, which leads out of `root`.
constexpr const char* kCdiFolders[] = {"/run/cdi", "/var/run/cdi", "/etc/cdi"};
// containerd's own place, and those of k3s, RKE2, k0s and MicroK8s.
constexpr const char* kContainerdFiles[] = {
    "/etc/containerd/config.toml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
    "/etc/k0s/containerd.toml",
    "/var/snap/microk8s/current/args/containerd.toml",
};
constexpr const char* kCrioFile = "/etc/crio/crio.conf";
constexpr const char* kCrioFolder = "/etc/crio/crio.conf.d";
constexpr const char* kToolkitFiles[] = {
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
};
constexpr const char* kPluginFolder = "/var/lib/kubelet/device-plugins";
constexpr const char* kPodResourcesSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";

class Reader {
 public:
  explicit Reader(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] bool exists(const std::string& path) const {
    std::error_code ignored;
    return fs::exists(root_ + path, ignored);
  }

  // The names in a folder, sorted; those beyond the limit are left out.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> out;
    std::error_code error;
    for (fs::directory_iterator at(root_ + folder, error), end; !error && at != end;
         at.increment(error)) {
      out.push_back(at->path().filename().string());
    }
    std::sort(out.begin(), out.end());
    out.resize(std::min(out.size(), kFilesMax));
    return out;
  }

  [[nodiscard]] Result<std::string> text(const std::string& path, std::size_t bytes_max) const {
    std::error_code ignored;
    if (!fs::is_regular_file(root_ + path, ignored)) return fail("it is not a file");
    return base::read_file(root_ + path, bytes_max);
  }

  template <typename Content>
  [[nodiscard]] Read<Content> parsed(const std::string& path,
                                     Result<Content> (*parse)(std::string_view)) const {
    const Result<std::string> read = text(path, kConfigBytesMax);
    if (!read) return {.file = path, .content = tl::unexpected(read.error())};
    return {.file = path, .content = parse(*read)};
  }

 private:
  std::string root_;
};

void read_imports(const Reader& reader, const std::string& of, const std::string& pattern,
                  NodeFacts& facts) {
  if (pattern.size() > 4096) return;
  const fs::path path = fs::path(of).parent_path() / pattern;  // a relative one is relative to it
  const std::string folder = path.parent_path().string();
  for (const std::string& name : reader.names(folder)) {
    if (fnmatch(path.filename().c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    facts.runtime_files.push_back(reader.parsed(folder + "/" + name, &parse_containerd));
  }
}

void read_runtime(const Reader& reader, NodeFacts& facts) {
  for (const char* file : kContainerdFiles) {
    if (!reader.exists(file)) continue;
    facts.runtime = NodeFacts::Runtime::containerd;
    facts.runtime_files.push_back(reader.parsed(file, &parse_containerd));
    const auto& main = facts.runtime_files.front().content;
    const std::vector<std::string> imports = main ? main->imports : std::vector<std::string>();
    for (const std::string& pattern : imports) read_imports(reader, file, pattern, facts);
    return;
  }
  const std::vector<std::string> parts = reader.names(kCrioFolder);
  if (!reader.exists(kCrioFile) && parts.empty()) return;
  facts.runtime = NodeFacts::Runtime::crio;
  if (reader.exists(kCrioFile)) {
    facts.runtime_files.push_back(reader.parsed(kCrioFile, &parse_crio));
  }
  for (const std::string& name : parts) {
    facts.runtime_files.push_back(
        reader.parsed(std::string(kCrioFolder) + "/" + name, &parse_crio));
  }
}

void read_nvidia_specs(const Reader& reader, NodeFacts& facts) {
  for (const char* folder : kCdiFolders) {
    for (const std::string& name : reader.names(folder)) {
      if (!name.ends_with(".yaml") && !name.ends_with(".json")) continue;
      const std::string file = std::string(folder) + "/" + name;
      const auto text = reader.text(file, plugin::kNvidiaSpecBytesMax);
      // Files of others may be of any kind; only what may be NVIDIA's matters.
      if (!text || text->find(plugin::kNvidiaKind) == std::string::npos) continue;
      auto spec = plugin::parse_nvidia_spec(*text, file);
      if (!spec) {
        facts.nvidia_specs.push_back({.file = file, .content = tl::unexpected(spec.error())});
      } else if (*spec) {
        facts.nvidia_specs.push_back({.file = file, .content = **std::move(spec)});
      }
    }
  }
  const auto first = std::find_if(facts.nvidia_specs.begin(), facts.nvidia_specs.end(),
                                  [](const auto& read) { return read.content.has_value(); });
  if (first == facts.nvidia_specs.end()) return;
  std::vector<std::string> paths = plugin::host_paths(first->content->common);
  for (const auto& [name, edits] : first->content->devices) {
    const std::vector<std::string> more = plugin::host_paths(edits);
    paths.insert(paths.end(), more.begin(), more.end());
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (std::string& path : paths) {
    if (!reader.exists(path)) facts.missing_paths.push_back(std::move(path));
  }
}

}  // namespace

NodeFacts read_node(const std::string& root) {
  const Reader reader(root);
  NodeFacts facts;
  if (auto version = reader.text("/proc/driver/nvidia/version", kConfigBytesMax)) {
    facts.driver = version->substr(0, version->find('\n'));
  }
  facts.control_device = reader.exists("/dev/nvidiactl");
  read_runtime(reader, facts);
  for (const char* file : kToolkitFiles) {
    if (facts.toolkit || !reader.exists(file)) continue;
    facts.toolkit = reader.parsed(file, &parse_toolkit);
  }
  read_nvidia_specs(reader, facts);
  facts.device_plugins = reader.exists(kPluginFolder);
  facts.kubelet = reader.exists(std::string(kPluginFolder) + "/kubelet.sock");
  facts.podresources = reader.exists(kPodResourcesSocket);
  for (std::string& name : reader.names(kPluginFolder)) {
    if (name.starts_with("nvidia")) facts.foreign_plugins.push_back(std::move(name));
  }
  return facts;
}

}  // namespace stowage::doctor
