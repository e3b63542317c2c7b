#include "cmd/local_command.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "cmd/local_controller.h"
#include "kube/kubeconfig.h"
#include "local/demo/demo.h"
#include "local/kubelet/remote_kubelets.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "A Kubernetes cluster on this machine's loopback, without containers: an API server\n"
    "that kubectl can talk to, simulated nodes and kubelets, controllers for Deployments,\n"
    "ReplicaSets and Jobs, and the real scheduler on top. Runs until Ctrl-C.";

constexpr const char* kExamples =
    "Examples:\n"
    "  16 nodes of 8 cards, and commands to try:\n"
    "    stowage local\n"
    "  Watch a mixed workload being placed:\n"
    "    stowage local demo\n"
    "  Unequal nodes, with a controller that you run yourself:\n"
    "    stowage local --mix nodes.yaml --kubeconfig local.kubeconfig --no-controller\n"
    "    stowage controller --kubeconfig local.kubeconfig\n\n"
    "Annotations control the simulation:\n"
    "  local.stowage.dev/run-seconds   of a pod that is not restarted: it ends after this time\n"
    "                                  (default for pods of Jobs: 10 seconds)\n"
    "  local.stowage.dev/exit-code     of such a pod: its exit code\n"
    "  local.stowage.dev/stop-seconds  how long a pod takes to stop, up to its grace period\n"
    "  local.stowage.dev/failed=true   of a node: its kubelet is silent; the node is unreachable\n"
    "                                  after 5 seconds, its pods are evicted 30 seconds later\n"
    "Stowage also schedules pods of the default-scheduler here.";

constexpr const char* kDemoDescription = "A local cluster and a mixed workload that fills it.";

constexpr const char* kDemoFooter =
    "Shows where the pods were placed, card by card, and why one pod is refused. Takes all\n"
    "flags of `stowage local`. In a terminal the cluster stays up until Ctrl-C; otherwise the\n"
    "program ends when all pods are placed, with exit code 1 if that takes more than a minute.";

constexpr const char* kKubeletsDescription = "Simulated kubelets for the nodes of another cluster.";

constexpr const char* kKubeletsFooter =
    "Pods that are bound there start, end and are deleted, but no container runs. For tests with\n"
    "a real API server. The annotations of `stowage local` apply.";

bool is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

local::MapStyle style_of_terminal() {
  std::string_view locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  local::MapStyle style;
  for (const std::string_view name : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
    style.unicode = style.unicode || locale.find(name) != std::string_view::npos;
  }
  style.colour = is_terminal() && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return style;
}

// Quoted for a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,";
  if (!text.empty() && text.find_first_not_of(kHarmless) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

std::string fleet_text(const std::vector<local::NodeGroup>& groups) {
  std::int64_t nodes = 0;
  std::int64_t cards = 0;
  std::string parts;
  for (const local::NodeGroup& group : groups) {
    nodes += group.count;
    cards += std::int64_t{group.count} * group.gpus;
    if (group.gpus == 0) continue;
    if (!parts.empty()) parts += ", ";
    parts += fmt::format("{} x {} {}", group.count, group.gpus, group.model.name);
  }
  std::string text = fmt::format("{} {}, {} GPUs", nodes, nodes == 1 ? "node" : "nodes", cards);
  return parts.empty() ? text : text + " (" + parts + ")";
}

// One run of a local cluster: everything that lives until Ctrl-C.
class LocalRun {
 public:
  explicit LocalRun(const LocalFlags& flags) : flags_(flags) {}

  int run(bool demo) {
    auto options = cluster_options(flags_);
    if (!options) return end_with(kExitBadInput, options.error().message);
    auto config = local_controller_config(flags_.config, flags_.log_level);
    if (!config) return end_with(kExitBadInput, config.error().message);
    if (demo && flags_.nodes == "0") {
      return end_with(kExitBadInput, "--nodes: the demo needs at least one node");
    }
    if (demo && flags_.no_controller) {
      return end_with(kExitBadInput, "the demo needs the controller: leave out --no-controller");
    }
    demo_ = demo;
    fleet_ = options->nodes;
    kubeconfig_ = absolute(options->kubeconfig);
    log_.emplace(base::Log::Options{.level = config->log.level, .format = config->log.format});
    auto cluster = local::Cluster::start(loop_, *std::move(options));
    if (!cluster) return end_with(kExitFailed, cluster.error().message);
    cluster_ = *std::move(cluster);
    loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int /*signal*/) { stop(kExitOk); });
    if (flags_.no_controller) {
      greet();
    } else if (const Status started = start_controller(*std::move(config)); !started) {
      return end_with(kExitFailed, started.error().message);
    }
    loop_.run();
    controller_.reset();
    demo_run_.reset();
    client_.reset();
    cluster_.reset();
    return code_;
  }

 private:
  Status start_controller(controller::Config config) {
    STOWAGE_TRY(controller, LocalController::start(std::move(config), cluster_->url(), *log_,
                                                   [this] { loop_.post([this] { greet(); }); }));
    controller_ = std::move(controller);
    return {};
  }

  // Called when everything is running.
  void greet() {
    if (stopping_) return;
    std::string text = fmt::format("stowage local: {}, Kubernetes API at {}\n", fleet_text(fleet_),
                                   cluster_->url());
    if (demo_) {
      say(text);
      return start_demo();
    }
    if (flags_.quiet) return;
    text += "In another terminal:\n";
    text += fmt::format("  export KUBECONFIG={}\n", shell_word(kubeconfig_));
    // The controller of `stowage local` also serves default-scheduler; a separate one does not,
    // because that is kube-scheduler's name.
    const char* const scheduler = flags_.no_controller ? "\"schedulerName\":\"stowage\"," : "";
    if (flags_.no_controller) {
      text +=
          "  stowage controller --kubeconfig \"$KUBECONFIG\"    # until it runs, pods wait\n"
          "Pods must set schedulerName: stowage. No default-scheduler runs here.\n";
    }
    text += "  kubectl get nodes\n";
    if (!flags_.no_controller) text += "  kubectl create deployment web --image=any --replicas=3\n";
    text += fmt::format(
        "  kubectl run half --image=any --overrides='{{\"spec\":{{{}\"containers\":[{{"
        "\"name\":\"half\",\"image\":\"any\",\n"
        "    \"resources\":{{\"limits\":{{\"stowage.dev/gpu-core\":\"50\"}}}}}}]}}}}'\n"
        "  kubectl get pods -o wide; kubectl describe pod half\n",
        scheduler);
    text += fmt::format("Without kubectl: curl {}/api/v1/nodes\n", cluster_->url());
    if (controller_ != nullptr) {
      text +=
          fmt::format("Metrics of the scheduler: curl http://{}/metrics\n", controller_->address());
    }
    say(text + "Ctrl-C ends it.\n");
  }

  void start_demo() {
    kube::ClientConfig config;
    config.origin = "the local cluster";
    config.server_url = cluster_->url();
    auto server = net::parse_url(config.server_url);
    if (!server) return fail_with(server.error().message);
    config.server = *std::move(server);
    auto client = kube::ApiClient::create(loop_, std::move(config));
    if (!client) return fail_with(client.error().message);
    client_ = *std::move(client);
    demo_run_ = std::make_unique<local::Demo>(
        *client_, local::make_demo_workload(fleet_),
        local::DemoOptions{.style = style_of_terminal(),
                           .terminal = is_terminal(),
                           .out = [this](std::string_view text) { say(text); }});
    demo_run_->start([this](const local::Demo::Outcome& outcome) { demo_done(outcome); });
  }

  void demo_done(const local::Demo::Outcome& outcome) {
    if (!outcome.ok) return fail_with(outcome.message);
    std::string text = "\nCommands to try, in another terminal:\n";
    if (!is_terminal()) {
      say(text + "  stowage local\n");
      return stop(kExitOk);
    }
    text += fmt::format("  export KUBECONFIG={}\n", shell_word(kubeconfig_));
    text += fmt::format("  kubectl -n {} get pods -o wide\n", local::kDemoNamespace);
    text += fmt::format("  kubectl -n {} describe pod colossus\n", local::kDemoNamespace);
    text += fmt::format("  kubectl -n {} scale deployment inference --replicas=4\n",
                        local::kDemoNamespace);
    say(text + "The cluster stays up; Ctrl-C ends it.\n");
  }

  void fail_with(const std::string& message) {
    static_cast<void>(end_with(kExitFailed, message));
    stop(kExitFailed);
  }

  void say(std::string_view text) {
    if (print(std::string(text)) != kExitOk) stop(kExitFailed);
  }

  void stop(int code) {
    if (std::exchange(stopping_, true)) return loop_.stop();  // the second signal: stop at once
    code_ = code;
    if (controller_ == nullptr) return loop_.stop();
    controller_->stop([this] { loop_.post([this] { loop_.stop(); }); });
  }

  const LocalFlags& flags_;
  bool demo_ = false;
  std::vector<local::NodeGroup> fleet_;
  std::string kubeconfig_;
  std::optional<base::Log> log_;
  net::EventLoop loop_;
  std::unique_ptr<local::Cluster> cluster_;
  std::unique_ptr<LocalController> controller_;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<local::Demo> demo_run_;
  bool stopping_ = false;
  int code_ = kExitOk;
};

int run_kubelets(const LocalFlags& flags) {
  auto config = kube::load_client_config(
      {.path = flags.kubelets.kubeconfig, .context = flags.kubelets.context});
  if (!config) return end_with(kExitBadInput, config.error().message);
  net::EventLoop loop;
  auto client = kube::ApiClient::create(loop, *std::move(config));
  if (!client) return end_with(kExitBadInput, client.error().message);
  base::Log log;
  local::RemoteKubelets kubelets(**client, local::KubeletOptions{}, local::steady_wall_clock(),
                                 [&log](const std::string& trouble) { log.warn(trouble); });
  loop.on_signals({SIGINT, SIGTERM}, [&loop](int /*signal*/) { loop.stop(); });
  kubelets.start();
  log.info("simulating kubelets", {{"server", (*client)->config().server_url}});
  loop.run();
  const local::RemoteKubeletCounters& counters = kubelets.counters();
  log.info("ended", {{"started", std::to_string(counters.started)},
                     {"refused", std::to_string(counters.refused)},
                     {"ended", std::to_string(counters.ended)},
                     {"removed", std::to_string(counters.removed)}});
  return kExitOk;
}

void add_cluster_flags(CLI::App& command, LocalFlags& flags) {
  const FlagGroup group(command, "The cluster");
  group.value("--nodes", flags.nodes, "N", "number of nodes, up to 10000; 0: you create them [16]");
  group.value("--gpus", flags.gpus, "N", "cards of each node [8]");
  group.value("--model", flags.model, "NAME",
              "their model, such as A100-80GB, H100-80GB, L4, T4,\n"
              "V100-32GB; or NAME:MiB [A100-80GB]");
  group.value("--mix", flags.mix, "FILE",
              "instead of these: a YAML file that lists groups of\n"
              "nodes under \"nodes\", each with count, gpus, model and\n"
              "optionally name, cpu, memory, labels, taints");
  group.value("--port", flags.port, "N", "port of the API server [any free one]");
  group.value("--kubeconfig", flags.kubeconfig, "FILE",
              "where to write the kubeconfig, removed at the end\n"
              "[$XDG_RUNTIME_DIR/stowage-local.kubeconfig, or the\n"
              "current folder]");
}

void add_scheduler_flags(CLI::App& command, LocalFlags& flags) {
  const FlagGroup group(command, "The scheduler");
  group.flag("--no-controller", flags.no_controller,
             "start no controller; run `stowage controller` yourself");
  group.value("--config", flags.config, "FILE", "its configuration, as for `stowage controller`");
  group.value("--log-level", flags.log_level, "LEVEL", "debug, info, warn or error [warn]");
  command.add_flag("--quiet", flags.quiet, "do not print commands to try");
}

}  // namespace

Command add_local_command(CLI::App& app, LocalFlags& flags) {
  CLI::App* const command = app.add_subcommand("local", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  command->require_subcommand(0, 1);
  add_cluster_flags(*command, flags);
  add_scheduler_flags(*command, flags);
  CLI::App* const demo = command->add_subcommand("demo", kDemoDescription);
  demo->footer(kDemoFooter);
  demo->fallthrough();
  CLI::App* const kubelets = command->add_subcommand("kubelets", kKubeletsDescription);
  kubelets->footer(kKubeletsFooter);
  kubelets
      ->add_option("--kubeconfig", flags.kubelets.kubeconfig,
                   "kubeconfig of the cluster (default: KUBECONFIG,\n"
                   "~/.kube/config)")
      ->type_name("FILE");
  kubelets->add_option("--context", flags.kubelets.context, "context of the kubeconfig")
      ->type_name("NAME");
  return {.app = command, .run = [&flags, demo, kubelets] {
            if (kubelets->parsed()) return run_kubelets(flags);
            return LocalRun(flags).run(demo->parsed());
          }};
}

}  // namespace stowage::cmd
