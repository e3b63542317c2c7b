#include "doctor/node_checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stowage::doctor {
namespace {

constexpr std::string_view kCdiFolder = "/var/run/cdi";
constexpr const char* kGenerate = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";

// All files of the runtime as one.
RuntimeConfig whole(const NodeFacts& facts) {
  RuntimeConfig config;
  bool first = true;
  for (const auto& read : facts.runtime_files) {
    if (!read.content) continue;
    if (first) config = *read.content;
    if (!std::exchange(first, false)) merge(config, *read.content);
  }
  return config;
}

Finding driver(const NodeFacts& facts) {
  if (!facts.driver) {
    return {"driver", State::wrong,
            "the NVIDIA driver is not loaded: no /proc/driver/nvidia/version",
            "install the driver, then: modprobe nvidia"};
  }
  if (!facts.control_device) {
    return {"driver", State::wrong, "the driver is loaded, but /dev/nvidiactl does not exist",
            "nvidia-modprobe -c 0 -u"};
  }
  return {"driver", State::ok, *facts.driver, ""};
}

const Read<plugin::NvidiaSpec>* readable_spec(const NodeFacts& facts) {
  const auto found = std::find_if(facts.nvidia_specs.begin(), facts.nvidia_specs.end(),
                                  [](const auto& read) { return read.content.has_value(); });
  return found == facts.nvidia_specs.end() ? nullptr : &*found;
}

Finding nvidia_spec(const NodeFacts& facts) {
  const auto* spec = readable_spec(facts);
  if (spec == nullptr && !facts.nvidia_specs.empty()) {
    const auto& broken = facts.nvidia_specs.front();
    return {"nvidia-spec", State::wrong,
            fmt::format("{} cannot be read: {}", broken.file, broken.content.error().message),
            kGenerate};
  }
  if (spec == nullptr) {
    return {"nvidia-spec", State::warning,
            "no CDI specification of kind nvidia.com/gpu in /etc/cdi or /var/run/cdi", kGenerate};
  }
  if (!facts.missing_paths.empty()) {
    return {"nvidia-spec", State::wrong,
            fmt::format("{} names {}{}, which does not exist: it is of another driver version",
                        spec->file, facts.missing_paths.front(),
                        facts.missing_paths.size() > 1
                            ? fmt::format(" and {} other paths", facts.missing_paths.size() - 1)
                            : ""),
            kGenerate};
  }
  return {"nvidia-spec", State::ok,
          fmt::format("{}: {} devices", spec->file, spec->content->devices.size()), ""};
}

Finding runtime_files(const NodeFacts& facts) {
  if (facts.runtime == NodeFacts::Runtime::none) {
    return {"runtime", State::warning, "found no configuration of containerd or CRI-O",
            "containerd config default > /etc/containerd/config.toml"};
  }
  for (const auto& read : facts.runtime_files) {
    if (read.content) continue;
    return {"runtime", State::wrong,
            fmt::format("{} cannot be read: {}", read.file, read.content.error().message),
            "mend the file, then restart the runtime"};
  }
  std::vector<std::string> files;
  for (const auto& read : facts.runtime_files) files.push_back(read.file);
  const bool crio = facts.runtime == NodeFacts::Runtime::crio;
  return {"runtime", State::ok,
          fmt::format("{}: {}", crio ? "CRI-O" : "containerd", fmt::join(files, ", ")), ""};
}

Finding cdi(const NodeFacts& facts, const RuntimeConfig& config) {
  if (config.cdi_folders &&
      std::find(config.cdi_folders->begin(), config.cdi_folders->end(), kCdiFolder) ==
          config.cdi_folders->end() &&
      std::find(config.cdi_folders->begin(), config.cdi_folders->end(), "/run/cdi") ==
          config.cdi_folders->end()) {
    return {"cdi", State::wrong,
            fmt::format("cdi_spec_dirs is {}, without {}", fmt::join(*config.cdi_folders, ", "),
                        kCdiFolder),
            fmt::format("add \"{}\" to cdi_spec_dirs, then restart the runtime", kCdiFolder)};
  }
  if (facts.runtime == NodeFacts::Runtime::crio) {
    return {"cdi", State::ok, "CRI-O always supports CDI", ""};
  }
  const std::string remedy = fmt::format(
      "set enable_cdi = true in {} of {}, then: systemctl restart containerd",
      cdi_table(config.version),
      facts.runtime_files.empty() ? "/etc/containerd/config.toml" : facts.runtime_files[0].file);
  if (config.cdi == true) return {"cdi", State::ok, "enable_cdi = true", ""};
  if (config.cdi == false) return {"cdi", State::wrong, "enable_cdi = false", remedy};
  if (config.version >= 3) {
    return {"cdi", State::ok, "enable_cdi is not set; containerd 2 has CDI switched on", ""};
  }
  return {"cdi", State::warning,
          "enable_cdi is not set; containerd before 2.0 has CDI switched off", remedy};
}

bool cdi_is_on(const Finding& finding) { return finding.state != State::wrong; }

Finding nvidia_runtime(const RuntimeConfig& config) {
  if (config.nvidia_runtimes.empty()) {
    return {"nvidia-runtime", State::ok, "no runtime of NVIDIA is configured; CDI needs none", ""};
  }
  const bool is_default = std::find(config.nvidia_runtimes.begin(), config.nvidia_runtimes.end(),
                                    config.default_runtime) != config.nvidia_runtimes.end();
  return {"nvidia-runtime", State::ok,
          fmt::format("{}{}", fmt::join(config.nvidia_runtimes, ", "),
                      is_default ? " (the default: it runs every container)" : ""),
          ""};
}

// A container that names its cards itself gets them from NVIDIA's runtime, whatever was decided.
Finding bypass(const NodeFacts& facts, const RuntimeConfig& config, Way way) {
  if (facts.toolkit && !facts.toolkit->content) {
    return {"bypass", State::wrong,
            fmt::format("{} cannot be read: {}", facts.toolkit->file,
                        facts.toolkit->content.error().message),
            "mend the file"};
  }
  if (config.nvidia_runtimes.empty()) {
    return {"bypass", State::ok, "no container can choose cards by NVIDIA_VISIBLE_DEVICES", ""};
  }
  const bool accepts = !facts.toolkit || facts.toolkit->content->accepts_variable;
  if (!accepts) {
    if (way == Way::runtime) {
      return {"bypass", State::wrong,
              "NVIDIA's runtime ignores NVIDIA_VISIBLE_DEVICES in ordinary containers, but without "
              "a CDI specification the agent can give cards only by this variable",
              kGenerate};
    }
    return {"bypass", State::ok,
            "NVIDIA's runtime ignores NVIDIA_VISIBLE_DEVICES in ordinary containers", ""};
  }
  std::string remedy =
      "nvidia-ctk config --in-place "
      "--set accept-nvidia-visible-devices-envvar-when-unprivileged=false";
  if (way != Way::cdi) remedy = std::string(kGenerate) + "; then: " + remedy;
  return {"bypass", State::wrong,
          fmt::format("every container with the runtime {} gets the cards that it names in "
                      "NVIDIA_VISIBLE_DEVICES, and images of CUDA name all",
                      fmt::join(config.nvidia_runtimes, ", ")),
          std::move(remedy)};
}

Finding kubelet(const NodeFacts& facts) {
  if (!facts.device_plugins) {
    return {"kubelet", State::wrong, "/var/lib/kubelet/device-plugins does not exist",
            "run this on a node, with the machine's file system (--root)"};
  }
  if (!facts.kubelet) {
    return {"kubelet", State::wrong, "the kubelet does not listen for device plugins",
            "systemctl status kubelet"};
  }
  if (!facts.podresources) {
    return {"kubelet", State::warning,
            "/var/lib/kubelet/pod-resources/kubelet.sock does not exist: pods with devices are "
            "known from the kubelet's checkpoint only",
            "mount the folder pod-resources, or see the kubelet's --root-dir"};
  }
  return {"kubelet", State::ok, "listens for device plugins, and reports devices of pods", ""};
}

Finding others(const NodeFacts& facts) {
  if (facts.foreign_plugins.empty()) {
    return {"other-plugins", State::ok, "no other device plugin for NVIDIA's cards", ""};
  }
  return {"other-plugins", State::warning,
          fmt::format("{}: another device plugin may give out the same cards, and Stowage learns "
                      "of that afterwards",
                      fmt::join(facts.foreign_plugins, ", ")),
          "remove NVIDIA's device plugin from this node, or let no pod ask for stowage.dev/* here"};
}

}  // namespace

const char* to_string(Way way) {
  switch (way) {
    case Way::none: return "none";
    case Way::cdi: return "cdi";
    case Way::runtime: return "runtime";
  }
  return "";
}

NodeReport examine(const NodeFacts& facts) {
  const RuntimeConfig config = whole(facts);
  NodeReport report;
  const Finding spec = nvidia_spec(facts);
  const Finding on = cdi(facts, config);
  if (cdi_is_on(on) && facts.driver) {
    if (spec.state == State::ok) report.way = Way::cdi;
    if (spec.state != State::ok && !config.nvidia_runtimes.empty()) report.way = Way::runtime;
  }
  report.findings = {driver(facts),          spec,
                     runtime_files(facts),   on,
                     nvidia_runtime(config), bypass(facts, config, report.way),
                     kubelet(facts),         others(facts)};
  if (report.way == Way::none) {
    report.findings.push_back({"injection", State::wrong,
                               "the agent has no way to give a card to a container on this node",
                               "mend what is wrong above, the first line first"});
  } else {
    report.findings.push_back({"injection", State::ok,
                               fmt::format("cards are given by the way {}", to_string(report.way)),
                               ""});
  }
  return report;
}

}  // namespace stowage::doctor
