#include "cmd/what_if_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "client/manifests.h"
#include "client/what_if.h"
#include "client/what_if_output.h"
#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "controller/config.h"
#include "core/model/policy.h"
#include "scheduler/profile.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Shows on which nodes and cards pods would be placed, or why no node fits. Reads the\n"
    "cluster from manifests: connects to no cluster and changes nothing.";

constexpr const char* kExamples =
    "Examples:\n"
    "  Would these pods fit into the cluster as it is now?\n"
    "    kubectl get nodes,pods,configmaps -A -o json > cluster.json\n"
    "    stowage what-if --cluster cluster.json -f pods.yaml\n"
    "  The same with another policy, for a program:\n"
    "    stowage what-if --cluster cluster.json -f pods.yaml --policy binpack -o json\n"
    "  Would the pending pods of the cluster fit?\n"
    "    stowage what-if --cluster cluster.json --pending\n\n"
    "Files are YAML or JSON, with several documents or lists; - is the standard input. For a\n"
    "large cluster use JSON: it is read ten times as fast. Pods are placed one after the\n"
    "other, in the order of the files; each pod keeps its cards.\n"
    "Deployments, ReplicaSets, StatefulSets and Jobs stand for their pods: name-0, name-1, ...\n\n"
    "Exit code: 0 all pods were placed, 1 some were not, 2 the input is wrong.";

using Clock = std::chrono::steady_clock;

// Reports the progress of reading if it takes longer than two seconds.
class Waiting {
 public:
  explicit Waiting(std::string file) : file_(std::move(file)), start_(Clock::now()) {}
  ~Waiting() {
    if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void draw(double fraction) {
    const auto now = Clock::now();
    if (now - start_ < std::chrono::seconds(2)) return;
    if (shown_ && (!terminal_ || now - drawn_ < std::chrono::milliseconds(200))) return;
    const std::string line =
        terminal_ ? fmt::format("\rreading {}: {:.0f} %", file_, fraction * 100)
                  : fmt::format("stowage: reading {} takes a while; JSON is faster\n", file_);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    shown_ = true;
    drawn_ = now;
  }

 private:
  std::string file_;
  Clock::time_point start_;
  Clock::time_point drawn_;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

Result<std::vector<client::Manifests>> load_all(const std::vector<std::string>& files) {
  std::vector<client::Manifests> all;
  for (const std::string& file : files) {
    Waiting waiting(file);
    STOWAGE_TRY(manifests, client::Manifests::load(
                               file, [&waiting](double fraction) { waiting.draw(fraction); }));
    all.push_back(std::move(manifests));
  }
  return all;
}

Result<controller::Config> config_of(const WhatIfFlags& flags) {
  controller::Config config;
  if (!flags.config.empty()) {
    STOWAGE_TRY_ASSIGN(config, controller::load_config(flags.config));
  }
  if (flags.policy.empty()) return config;
  STOWAGE_TRY(choice, core::parse_policy(flags.policy));
  for (scheduler::Profile& profile : config.profiles) profile.policy.choice = choice;
  return config;
}

Status check(const WhatIfFlags& flags) {
  if (flags.cluster.empty()) return fail("--cluster FILE is needed (see stowage what-if --help)");
  if (flags.files.empty() && !flags.pending) {
    return fail("nothing to place: give -f FILE, or --pending (see stowage what-if --help)");
  }
  if (flags.output != "table" && flags.output != "json" && flags.output != "yaml") {
    return fail(fmt::format("-o {}: write table, json or yaml", flags.output));
  }
  const auto inputs = std::count(flags.cluster.begin(), flags.cluster.end(), "-") +
                      std::count(flags.files.begin(), flags.files.end(), "-");
  if (inputs > 1) return fail("the standard input (-) can be read only once");
  return {};
}

void print_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(notes.size(), kShown); ++i) {
    (void)end_with(kExitOk, notes[i]);
  }
  if (notes.size() > kShown) {
    (void)end_with(kExitOk, fmt::format("and {} more notes of this kind", notes.size() - kShown));
  }
}

Result<client::WhatIf> answer(const WhatIfFlags& flags) {
  STOWAGE_TRY_VOID(check(flags));
  STOWAGE_TRY(config, config_of(flags));
  print_notes(config.warnings);
  STOWAGE_TRY(cluster, load_all(flags.cluster));
  STOWAGE_TRY(add, load_all(flags.files));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return client::what_if(
      {.cluster = cluster,
       .add = add,
       .profiles = std::move(config.profiles),
       .quota = std::move(config.quota),
       .scheduler_name = flags.scheduler_name,
       .pending = flags.pending,
       .unix_nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
}

int run(const WhatIfFlags& flags) {
  const auto result = answer(flags);
  if (!result) return end_with(kExitBadInput, result.error().message);
  print_notes(result->notes);
  const int code = print(flags.output == "json"   ? client::to_json(*result)
                         : flags.output == "yaml" ? client::to_yaml(*result)
                                                  : client::to_table(*result));
  const bool all = result->placed() == result->placements.size();
  return code == kExitOk && !all ? kExitFailed : code;
}

}  // namespace

Command add_what_if_command(CLI::App& app, WhatIfFlags& flags) {
  CLI::App* const command = app.add_subcommand("what-if", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  const FlagGroup group(*command);
  group
      .value("--cluster", flags.cluster, "FILE",
             "nodes, pods and ConfigMaps of the cluster; may be\nrepeated")
      ->expected(1)
      ->take_all();
  group.value("-f,--filename", flags.files, "FILE", "pods to add; may be repeated")
      ->expected(1)
      ->take_all();
  group.value("--policy", flags.policy, "NAME",
              "place by this policy instead of the profile's; any of\n"
              "stowage sim --list-policies, \"node/card\" names both");
  group.value("--scheduler-name", flags.scheduler_name, "NAME",
              "profile for all pods (default: the pod's schedulerName\n"
              "if it is a profile, else the first profile)");
  group.value("--config", flags.config, "FILE",
              "configuration of the controller, for its profiles and\nquotas");
  group.flag("--pending", flags.pending,
             "first place the pending pods of the cluster that name\n"
             "one of the profiles");
  group.value("-o,--output", flags.output, "FORMAT", "table, json or yaml");
  return {.app = command, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
