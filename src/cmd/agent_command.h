// `stowage agent`: reads the cards of its node and reports them.
#pragma once

#include <string>

#include "cmd/command.h"
#include "cmd/daemon_flags.h"

namespace stowage::cmd {

struct AgentFlags {
  std::string node;
  std::string cards = "nvml";
  std::string controller;
  std::string token_file = "/var/run/secrets/stowage.dev/token";
  std::string ca_file = "/etc/stowage/ca/ca.crt";
  std::string server_name;
  std::string podresources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  ClusterFlags cluster;
  std::string listen = "127.0.0.1:10363";
  LogFlags log{.level = "info", .format = "text"};
  bool no_annotation = false;
  bool device_plugin = false;
  std::string device_plugin_dir = "/var/lib/kubelet/device-plugins";
  std::string state_dir = "/var/lib/stowage";
  std::string injection = "cdi";
  std::string mps_root;
  std::string cdi_dir = "/var/run/cdi";
  std::string cdi_static_dir = "/etc/cdi";
  std::string host_root = "/";
  std::string signing_keys = "kube-system/stowage-signing-keys";
  std::string attachments = "512";
  bool once = false;
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_agent_command(CLI::App& app, AgentFlags& flags);

}  // namespace stowage::cmd
