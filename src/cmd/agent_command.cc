#include "cmd/agent_command.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/agent.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/card_source.h"
#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "dialect/dialect.h"
#include "gpu/card_list.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Reads the GPU cards of this node. Writes the cards and their health to an annotation of\n"
    "the node. Streams their load, and which container has which card, to the controller.\n"
    "Runs on every node with cards until SIGTERM or Ctrl-C.";

constexpr const char* kExamples =
    "Examples:\n"
    "  Print the cards of this machine:\n"
    "    stowage agent --once\n"
    "  On a node, as in the DaemonSet of deploy/agent.yaml:\n"
    "    stowage agent --controller https://stowage-agents.kube-system.svc:10362\n"
    "  Without cards, from a file (docs/agent.md):\n"
    "    stowage agent --node-name n1 --cards fake:cards.yaml --kubeconfig ~/.kube/config\n\n"
    "Health and metrics: /healthz, /readyz, /metrics.";

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string node_name(const AgentFlags& flags) {
  if (!flags.node.empty()) return flags.node;
  const char* given = std::getenv("NODE_NAME");
  return given != nullptr && *given != '\0' ? given : host_name();
}

// Prints the inventory in the format of the node's annotation.
int print_once(gpu::Source& source) {
  auto inventory = source.inventory();
  if (!inventory) return end_with(kExitFailed, inventory.error().message);
  const gpu::CardList list = gpu::cards_of(*inventory, gpu::HealthTracker({}));
  return print(dialect::inventory_text(list.cards, list.links) + "\n");
}

Result<agent::UplinkOptions> uplink_of(const AgentFlags& flags, const std::string& node,
                                       std::uint64_t seed) {
  auto url = net::parse_url(flags.controller);
  if (!url) return fail("--controller: " + url.error().message);
  if (const Status allowed = agent::may_report_to(*url); !allowed) {
    return fail("--controller: " + allowed.error().message);
  }
  return agent::UplinkOptions{.controller = *url,
                              .report = {.node = node, .agent = std::string(base::kVersion)},
                              .token_file = flags.token_file,
                              .ca_file = url->tls ? flags.ca_file : "",
                              .server_name = flags.server_name,
                              .seed = seed};
}

Result<agent::AgentOptions::Plugin> plugin_of(const AgentFlags& flags, const std::string& node,
                                              std::uint64_t seed) {
  const auto way = plugin::parse_injection(flags.injection);
  if (!way) return fail("--injection: " + way.error().message);
  const auto attachments = base::parse_number<std::size_t>(flags.attachments);
  if (!attachments || *attachments < 1 || *attachments > plugin::kDevicesMax) {
    return fail(fmt::format("--attachments: write a number from 1 to {}", plugin::kDevicesMax));
  }
  const auto keys = base::split_name(flags.signing_keys);
  if (keys.ns.empty() || keys.name.empty()) {
    return fail("--signing-keys: write the ConfigMap as NAMESPACE/NAME");
  }
  agent::AgentOptions::Plugin plugin;
  plugin.keys.ns = keys.ns;
  plugin.keys.config_map = keys.name;
  plugin.keys.seed = seed;
  plugin::DevicePluginOptions& options = plugin.device_plugin;
  options.node = node;
  options.kubelet_folder = flags.device_plugin_dir;
  options.state_folder = flags.state_dir;
  options.injection = {.way = *way,
                       .cdi_folder = flags.cdi_dir,
                       .static_cdi_folder = flags.cdi_static_dir,
                       .host_root = flags.host_root};
  options.mps_root = flags.mps_root;
  options.devices = *attachments;
  options.unix_seconds = [] { return std::int64_t{std::time(nullptr)}; };
  options.seed = seed;
  return plugin;
}

Result<agent::AgentOptions> options_of(const AgentFlags& flags, const std::string& node) {
  std::random_device random;
  agent::AgentOptions options{.node = node, .listen = flags.listen};
  options.seed = (std::uint64_t{random()} << 32U) | random();
  options.podresources = flags.podresources;
  if (!flags.controller.empty()) {
    STOWAGE_TRY_ASSIGN(options.uplink, uplink_of(flags, node, options.seed));
  }
  options.write_annotation = !flags.no_annotation;
  if (flags.device_plugin) {
    STOWAGE_TRY_ASSIGN(options.plugin, plugin_of(flags, node, options.seed));
  }
  if (!flags.no_annotation || flags.device_plugin) {
    STOWAGE_TRY_ASSIGN(options.cluster,
                       kube::load_client_config(
                           {.path = flags.cluster.kubeconfig, .context = flags.cluster.context}));
  }
  return options;
}

int run(const AgentFlags& flags) {
  const std::string node = node_name(flags);
  if (node.empty())
    return end_with(kExitBadInput,
                    "the name of this node is not known: set --node-name or NODE_NAME");
  const auto level = base::parse_log_level(flags.log.level);
  if (!level) return end_with(kExitBadInput, level.error().message);
  const auto format = base::parse_log_format(flags.log.format);
  if (!format) return end_with(kExitBadInput, format.error().message);
  auto source = card_source(flags.cards, node);
  if (!source) return end_with(kExitBadInput, source.error().message);
  if (flags.once) return print_once(**source);
  auto options = options_of(flags, node);
  if (!options) return end_with(kExitBadInput, options.error().message);

  base::Log log({.level = *level, .format = *format});
  net::EventLoop loop;
  auto agent = agent::Agent::create(loop, std::move(*options), std::move(*source), log);
  if (!agent) return end_with(kExitFailed, agent.error().message);
  loop.on_signals({SIGTERM, SIGINT},
                  [&](int /*signal*/) { (*agent)->finish([&] { loop.stop(); }); });
  (*agent)->start();
  loop.run();
  log.info("stopped");
  return kExitOk;
}

void add_plugin_flags(CLI::App& command, AgentFlags& flags) {
  const FlagGroup group(command, "Device plugin");
  group.flag("--device-plugin", flags.device_plugin,
             "give containers the cards that were decided, as a\n"
             "device plugin of the kubelet (docs/agent.md)");
  group.value("--mps-root", flags.mps_root, "DIR",
              "folder of stowage mps (/run/stowage/mps): shares of cards\n"
              "are limited by MPS; empty: they are not (default)");
  group.value("--injection", flags.injection, "WAY",
              "how containers get cards: cdi, runtime (the nvidia runtime),\n"
              "or auto: cdi if NVIDIA's CDI specification exists\n"
              "(default cdi)");
  group.value("--state-dir", flags.state_dir, "DIR",
              "what the device plugin must remember; a folder of the node\n"
              "(default /var/lib/stowage)");
  group.value("--device-plugin-dir", flags.device_plugin_dir, "DIR",
              "the kubelet's folder for device plugins\n"
              "(default /var/lib/kubelet/device-plugins)");
  group.value("--cdi-dir", flags.cdi_dir, "DIR",
              "where CDI specifications of containers are written\n"
              "(default /var/run/cdi)");
  group.value("--cdi-static-dir", flags.cdi_static_dir, "DIR",
              "where NVIDIA's specification may be besides --cdi-dir\n"
              "(default /etc/cdi)");
  group.value("--host-root", flags.host_root, "DIR",
              "where the node's files are, to check that those of the\n"
              "driver exist; empty: not checked (default /)");
  group.value("--attachments", flags.attachments, "N",
              "most containers with cards at a time, and as many devices\n"
              "for init containers (default 512)");
  group.value("--signing-keys", flags.signing_keys, "NAME",
              "ConfigMap with the controller's public keys\n"
              "(default kube-system/stowage-signing-keys)");
}

}  // namespace

Command add_agent_command(CLI::App& app, AgentFlags& flags) {
  CLI::App* const command = app.add_subcommand("agent", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  const FlagGroup group(*command);
  group.value("--node-name", flags.node, "NAME",
              "name of this node in the cluster (default: NODE_NAME,\n"
              "else the host name)");
  group.value("--cards", flags.cards, "SOURCE",
              "where to read the cards: nvml, nvml:LIBRARY or fake:FILE\n"
              "(default nvml)");
  group.value("--controller", flags.controller, "URL",
              "controller to report load and devices to; without it\n"
              "only the node's annotation is written");
  group.value("--token-file", flags.token_file, "FILE",
              "token that authenticates this agent to the controller;\n"
              "empty: none (default /var/run/secrets/stowage.dev/token)");
  group.value("--ca-file", flags.ca_file, "FILE",
              "CA that signs the controller's certificate\n"
              "(default /etc/stowage/ca/ca.crt)");
  group.value("--server-name", flags.server_name, "NAME",
              "name in the controller's certificate (default: its host)");
  group.value("--podresources", flags.podresources, "SOCKET",
              "the kubelet's podresources socket; empty: not used\n"
              "(default /var/lib/kubelet/pod-resources/kubelet.sock)");
  group.flag("--no-annotation", flags.no_annotation, "do not write the node's annotation");
  add_plugin_flags(*command, flags);
  add_cluster_flags(*command, flags.cluster);
  group.value("--listen", flags.listen, "ADDR",
              "address and port for health and metrics\n"
              "(default 127.0.0.1:10363; port 0: any free port)");
  add_log_flags(*command, flags.log);
  group.flag("--once", flags.once, "only print the cards of this machine, as JSON");
  return {.app = command, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
