#include "cmd/sim_command.h"

#include <cstdio>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "cmd/replay_command.h"
#include "core/policy/options.h"
#include "sim/report.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Replays a trace of pods through the placement engine and shows how many\n"
    "GPUs each policy allocates. No cluster is needed.";

constexpr const char* kExamples =
    "Examples:\n"
    "  Four policies on a built-in trace, with an HTML report:\n"
    "    stowage sim --synthetic 200 --policy dual-price,fgd,best-fit,random --report report\n"
    "  The published experiment, five random orders of a trace, as JSON:\n"
    "    stowage sim --nodes nodes.csv --pods pods.csv --inflate 1.3 --seed 42-46 -o json\n"
    "  Pods that arrive and leave, at three loads:\n"
    "    stowage sim --nodes nodes.csv --pods pods.csv --churn 0.9,1.0,1.1 --hold-back \\\n"
    "      --policy dual-price,fgd --seed 11-13\n\n"
    "Separate the values of a list with commas, or repeat the flag.\n"
    "Exit code: 0 success, 1 the output cannot be written, 2 the input is wrong.";

void add_trace_flags(CLI::App& sim, SimFlags& flags) {
  const FlagGroup group(sim, "Trace");
  group.value("--nodes", flags.nodes, "FILE",
              "nodes of the cluster, a CSV file with the columns\n"
              "sn,cpu_milli,memory_mib,gpu,model[,gpu_memory_mib]");
  group.value("--pods", flags.pods, "FILE",
              "pods that arrive, a CSV file with the columns\n"
              "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
              "[,gpu_spec,gpu_memory_mib,...]");
  group.value("--synthetic", flags.synthetic, "N",
              "instead of files: a cluster of N nodes and matching\n"
              "pods, in the proportions of a production cluster");
  group.value("--memory-share", flags.memory_share, "A|B",
              "give cards 32000 MiB and let share pods ask for memory\n"
              "too: A in step with compute, B and 30 % memory only");
}

void add_arrival_flags(CLI::App& sim, SimFlags& flags) {
  const FlagGroup group(sim, "How pods arrive");
  group.value("--inflate", flags.inflate, "RATIO",
              "shuffle the pods and add more of them, up to RATIO\n"
              "times the cluster's GPUs [1.3]; 0: each pod once, in\n"
              "the order of the file");
  group
      .value("--seed", flags.seeds, "N",
             "seeds of the random orders, such as 42 or 42,43 or\n"
             "42-46 [1]")
      ->allow_extra_args(false);
  group
      .value("--sequence", flags.sequences, "FILE",
             "a recorded order of nodes and pods, instead of a random\n"
             "one; its seed is the number at the end of its name")
      ->allow_extra_args(false);
  group
      .value("--churn", flags.loads, "LOAD",
             "pods arrive at random and leave: offered loads, as\n"
             "multiples of the cluster's GPUs, such as 0.9,1.0")
      ->allow_extra_args(false);
  group.value("--lifetimes", flags.lifetimes, "T",
              "with --churn: when it ends, in mean lifetimes [8]");
  group.value("--warmup", flags.warmup, "T",
              "with --churn: start of the measurement, in mean\n"
              "lifetimes [3]");
  group.flag("--queue", flags.queue,
             "with --churn: a pod that does not fit waits, instead of\n"
             "being lost");
}

void add_policy_flags(CLI::App& sim, SimFlags& flags) {
  const FlagGroup group(sim, "Policies");
  group
      .value("--policy", flags.policies, "NAME",
             "policies to compare, such as dual-price,fgd; with a\n"
             "card policy of its own: fgd/spread [dual-price]")
      ->allow_extra_args(false);
  group.flag("--list-policies", flags.list_policies, "print the names of all policies and exit");
  group.flag("--hold-back", flags.hold_back,
             "a policy may refuse a pod that would fit, to keep cards\n"
             "together for pods that need several");
  group.flag("--one-dimension", flags.one_dimension,
             "dual-price: do not put a price on GPU memory");
}

void add_output_flags(CLI::App& sim, SimFlags& flags) {
  const FlagGroup group(sim, "Results");
  group.value("-o,--output", flags.output, "FORMAT", "table, json or csv [table]");
  group.value("--report", flags.report, "DIR",
              "also write an HTML report with charts, DIR/index.html");
  group.value("--record", flags.record, "K:FILE",
              "also write the decision about the K-th pod that\n"
              "arrives, with all its inputs; for a single run");
  group.value("--replay", flags.replay, "FILE",
              "repeat the decision that --record wrote, and compare\n"
              "the outcome; nothing else is simulated");
  group.value("--jobs", flags.jobs, "N", "runs at the same time [one for each core]");
  group.flag("--quiet", flags.quiet, "no progress bar and no messages");
  sim.set_help_flag("-h,--help", "print this help and exit")->group("Results");
}

std::string policy_list() {
  std::string text = "node policies:";
  for (const std::string& name : core::policy_names()) text += "\n  " + name;
  text += "\ncard policies, after a slash (fgd/spread):";
  for (const std::string& name : core::card_policy_names()) text += "\n  " + name;
  return text + "\n";
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace

CLI::App* add_sim_command(CLI::App& app, SimFlags& flags) {
  CLI::App* const sim = app.add_subcommand("sim", kDescription);
  sim->footer(kExamples);
  sim->get_formatter()->column_width(26);
  add_trace_flags(*sim, flags);
  add_arrival_flags(*sim, flags);
  add_policy_flags(*sim, flags);
  add_output_flags(*sim, flags);
  return sim;
}

int run_sim_command(const SimFlags& flags) {
  if (flags.list_policies) return print(policy_list());
  if (!flags.replay.empty()) return run_replay(flags.replay);
  auto settings = sim_settings(flags);
  if (!settings) return end_with(kExitBadInput, settings.error().message);
  const auto inputs = sim::read_inputs(settings->experiment);
  if (!inputs) return end_with(kExitBadInput, inputs.error().message);
  if (!settings->report.empty()) {
    const Status ready = sim::prepare_report(settings->report);
    if (!ready) return end_with(kExitFailed, ready.error().message);
  }
  if (!flags.quiet && stderr_is_terminal()) {
    settings->experiment.show_progress = sim::ExperimentConfig::ShowProgress::yes;
  }
  const auto experiment = sim::run_experiment(settings->experiment, *inputs);
  if (!experiment) return end_with(kExitBadInput, experiment.error().message);

  std::string remark;
  if (!settings->report.empty()) {
    const auto page = sim::write_report(settings->report, *experiment);
    if (!page) return end_with(kExitFailed, page.error().message);
    remark = fmt::format("report: {}\n", *page);
  }
  if (!settings->record_file.empty()) {
    const auto& run = std::get<sim::ReplayResult>(experiment->runs.front().outcome);
    const Status written = base::write_file(settings->record_file, run.record);
    if (!written) return end_with(kExitFailed, written.error().message);
    remark += fmt::format("decision: {}\n", settings->record_file);
  }
  const int code = print(sim::render(*experiment, settings->format));
  if (code == kExitOk && !flags.quiet) std::fputs(remark.c_str(), stderr);
  return code;
}

}  // namespace stowage::cmd
