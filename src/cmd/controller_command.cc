#include "cmd/controller_command.h"

#include <csignal>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "controller/config.h"
#include "controller/config_check.h"
#include "controller/controller.h"
#include "kube/kubeconfig.h"
#include "net/address.h"
#include "net/event_loop.h"
#include "net/file_limit.h"
#include "webhook/answer.h"
#include "yaml/strict_map.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Schedules pods of a Kubernetes cluster: watches nodes and pods, chooses node and\n"
    "cards, binds, and explains every refusal. Runs until SIGTERM or Ctrl-C. A changed\n"
    "configuration takes effect without a restart.";

constexpr const char* kExamples =
    "Examples:\n"
    "  Inside a cluster, with the configuration of a ConfigMap:\n"
    "    stowage controller --config /etc/stowage/config.yaml\n"
    "  From a terminal, for the cluster of your kubeconfig:\n"
    "    stowage controller --kubeconfig ~/.kube/config\n"
    "  Check the configuration, and print it with all defaults:\n"
    "    stowage controller --config config.yaml --check\n\n"
    "Pods choose a profile by spec.schedulerName. The profiles without a configuration are\n"
    "stowage, toyscheduler, alnair-cost-saving, alnair-high-performance, gpu-scheduler and\n"
    "vgpu-scheduler.\n"
    "Health, metrics and debugging: /healthz, /readyz, /metrics, /debug/state, /debug/log-level,\n"
    "/debug/profile/cpu, /debug/profile/heap.";

// An empty text leaves the value of the configuration.
Status set(bool& what, const char* flag, const std::string& text) {
  if (text.empty()) return {};
  if (text != "true" && text != "false") {
    return fail(fmt::format("{}: write true or false, not \"{}\"", flag, text));
  }
  what = text == "true";
  return {};
}

// The configuration file, overridden by flags.
Result<controller::Config> config_of(const ControllerFlags& flags, const std::string& text) {
  STOWAGE_TRY(config, controller::parse_config(text, flags.config));
  if (!flags.listen.empty()) config.listen = flags.listen;
  STOWAGE_TRY_VOID(net::parse_listen(config.listen).map([](const auto&) {}));
  if (!flags.log.level.empty()) {
    STOWAGE_TRY_ASSIGN(config.log.level, base::parse_log_level(flags.log.level));
  }
  if (!flags.log.format.empty()) {
    STOWAGE_TRY_ASSIGN(config.log.format, base::parse_log_format(flags.log.format));
  }
  STOWAGE_TRY_VOID(set(config.leader_election.enabled, "--leader-elect", flags.leader_elect));
  STOWAGE_TRY_VOID(set(config.debug.loopback, "--debug-loopback", flags.debug_loopback));
  return config;
}

std::string leader_of(const controller::Config& config) {
  const auto& leader = config.leader_election;
  if (!leader.enabled) return "leader      no election: run only one replica\n";
  return fmt::format("leader      by lease {}/{} of {}, renewed within {}, every {}\n",
                     leader.ns.empty() ? "(namespace of the pod, or kube-system)" : leader.ns,
                     leader.name, yaml::to_text(leader.lease_duration),
                     yaml::to_text(leader.renew_deadline), yaml::to_text(leader.retry_period));
}

std::string picker_of(const scheduler::Profile& profile) {
  if (!profile.picker) return {};
  return fmt::format(", picker {} with {} candidates, timeout {}", profile.picker->url,
                     profile.policy.picker_candidates, yaml::to_text(profile.picker->timeout));
}

std::string nomination_of(const controller::Config& config) {
  const core::EngineOptions& engine = config.engine;
  std::string text = fmt::format("preemption  {}\n", engine.preemption ? "yes" : "no");
  if (engine.patience_ns <= 0) return text + "reservation no\n";
  return text + fmt::format("reservation after {}, one per {} nodes, for {}\n",
                            yaml::to_text(std::chrono::nanoseconds{engine.patience_ns}),
                            engine.nodes_per_nomination,
                            yaml::to_text(std::chrono::nanoseconds{engine.nomination_ns}));
}

// If kube-scheduler binds without another request to us, cards are kept for as long as that may
// take.
std::string holds_of(const extender::ExtenderOptions& extender) {
  const bool until_bound =
      extender.mode == extender::Mode::single_node || extender.mode == extender::Mode::count;
  return until_bound ? fmt::format("holds until bound, {} s at most", extender.bind_limit.count())
                     : fmt::format("holds {} s", extender.hold.count());
}

std::string routes_of(const extender::ExtenderOptions& options) {
  std::string text;
  for (const auto* routes : {&options.routes, &extender::own_routes()}) {
    for (const extender::Route& route : *routes) {
      text += fmt::format("            {:<24} {}\n", extender::to_string(route.verb), route.path);
    }
  }
  return text;
}

// What the controller does beside scheduling for pods with cards.
std::string nodes_of(const controller::Config& config) {
  std::string text;
  if (config.node_resources.enabled) {
    text += fmt::format("nodes       offer the quantities of {}\n",
                        base::join(config.node_resources.dialects, ", "));
  }
  if (config.webhook.enabled) {
    text += fmt::format("webhook     {}, carriers for {}{}\n", webhook::kPath,
                        base::join(config.node_resources.dialects, ", "),
                        config.webhook.void_unrequested ? ", hides cards from other pods" : "");
  }
  return text;
}

std::string summary_of(const controller::Config& config) {
  std::string text = fmt::format("listen      {}\nlog         {}\n", config.listen,
                                 base::to_string(config.log.level));
  for (const auto& profile : config.profiles) {
    text += fmt::format("profile     {:<24} {}{}{}, memory with core {}{}\n", profile.name,
                        core::to_text(profile.policy.choice),
                        profile.policy.hold_back ? ", holds back" : "",
                        profile.reading.floor_whole_cards ? ", floors whole cards" : "",
                        dialect::to_string(profile.reading.memory_with_core), picker_of(profile));
  }
  for (const auto& extender : config.extenders) {
    text += fmt::format("extender    {:<24} {}://{}, mode {}, {}, {}\n", extender.name,
                        extender.tls ? "https" : "http", extender.listen,
                        extender::to_string(extender.mode),
                        core::to_text(extender.policies.back().policy.choice), holds_of(extender));
    text += routes_of(extender);
  }
  if (!config.agents.listen.empty()) {
    text += fmt::format("agents      {}, silent after {}, load counts for {}\n",
                        config.agents.listen, yaml::to_text(config.agents.silent_after),
                        yaml::to_text(config.agents.load_counts));
  }
  text += nodes_of(config);
  text += leader_of(config);
  text += fmt::format("conflicts   {}\n", config.engine.evict_conflicts ? "evict" : "report");
  text += nomination_of(config);
  if (config.quota.enabled) {
    text += fmt::format("quota       ConfigMaps {} and {} in {}\n", config.quota.gpu_quota,
                        config.quota.stowage_quota, config.quota.ns);
  }
  for (const std::string& warning : controller::warnings_of(config)) {
    text += fmt::format("warning     {}\n", warning);
  }
  return text;
}

int run(const ControllerFlags& flags) {
  auto text =
      flags.config.empty() ? Result<std::string>("") : controller::read_config_text(flags.config);
  if (!text) return end_with(kExitBadInput, text.error().message);
  const auto config = config_of(flags, *text);
  if (!config) return end_with(kExitBadInput, config.error().message);
  if (flags.check) return print(summary_of(*config));
  auto cluster = kube::load_client_config(
      {.path = flags.cluster.kubeconfig, .context = flags.cluster.context});
  if (!cluster) return end_with(kExitBadInput, cluster.error().message);

  net::raise_file_limit();
  base::Log log({.level = config->log.level, .format = config->log.format});
  for (const std::string& warning : controller::warnings_of(*config)) log.warn(warning);
  net::EventLoop loop;
  const auto parse = [&flags](const std::string& fresh) { return config_of(flags, fresh); };
  auto controller = controller::Controller::create(
      loop,
      {.config = *config,
       .source = {.path = flags.config, .text = std::move(*text), .parse = parse},
       .cluster = std::move(*cluster)},
      log);
  if (!controller) return end_with(kExitFailed, controller.error().message);
  bool stopping = false;
  loop.on_signals({SIGTERM, SIGINT}, [&](int /*signal*/) {
    if (std::exchange(stopping, true)) return loop.stop();  // the second signal: stop at once
    (*controller)->stop([&loop] { loop.stop(); });
  });
  loop.on_signals({SIGHUP}, [&](int /*signal*/) { (*controller)->reload(); });
  (*controller)->start();
  loop.run();
  return kExitOk;
}

}  // namespace

Command add_controller_command(CLI::App& app, ControllerFlags& flags) {
  CLI::App* const command = app.add_subcommand("controller", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  const FlagGroup group(*command);
  group.value("--config", flags.config, "FILE", "configuration, a YAML file");
  add_cluster_flags(*command, flags.cluster);
  group.value("--listen", flags.listen, "ADDR",
              "address and port for health, metrics and debugging\n"
              "(default 127.0.0.1:10360; port 0: any free port)");
  group.value("--leader-elect", flags.leader_elect, "BOOL",
              "false: no leader election, for a single replica\n"
              "(default: as configured, true)");
  group.value("--debug-loopback", flags.debug_loopback, "BOOL",
              "true: requests from this machine to /debug/ need no\n"
              "token (default: as configured, true; set false on a\n"
              "machine that others use)");
  add_log_flags(*command, flags.log);
  group.flag("--check", flags.check, "only check the configuration and print it");
  return {.app = command, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
