#include "cmd/sim_command.h"

#include <cstdio>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "cmd/exit.h"
#include "cmd/replay_command.h"
#include "core/policy/options.h"
#include "sim/report.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Replays a trace of pods through the placement engine and says how many\n"
    "GPUs each policy puts to use. No cluster is needed.";

constexpr const char* kExamples =
    "Examples:\n"
    "  Four policies on a built-in trace, with a page to look at:\n"
    "    stowage sim --synthetic 200 --policy dual-price,fgd,best-fit,random --report report\n"
    "  The published experiment, five random orders of a trace, as JSON:\n"
    "    stowage sim --nodes nodes.csv --pods pods.csv --inflate 1.3 --seed 42-46 -o json\n"
    "  Pods that come and go, at three loads:\n"
    "    stowage sim --nodes nodes.csv --pods pods.csv --churn 0.9,1.0,1.1 --hold-back \\\n"
    "      --policy dual-price,fgd --seed 11-13\n"
    "\n"
    "Lists are written with commas, or by repeating the flag. Bad input ends with exit code 2 and\n"
    "one line that says what is wrong; output that cannot be written, with exit code 1.";

void add_trace_flags(CLI::App& sim, SimFlags& flags) {
  constexpr const char* kGroup = "What is simulated";
  sim.add_option("--nodes", flags.nodes,
                 "nodes of the cluster, a CSV file with the columns\n"
                 "sn,cpu_milli,memory_mib,gpu,model[,gpu_memory_mib]")
      ->group(kGroup)
      ->type_name("FILE");
  sim.add_option("--pods", flags.pods,
                 "pods that arrive, a CSV file with the columns\n"
                 "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
                 "[,gpu_spec,gpu_memory_mib,...]")
      ->group(kGroup)
      ->type_name("FILE");
  sim.add_option("--synthetic", flags.synthetic,
                 "instead of files: a cluster of N nodes and pods to\n"
                 "match, in the proportions of a production cluster")
      ->group(kGroup)
      ->type_name("N");
  sim.add_option("--memory-share", flags.memory_share,
                 "give cards 32000 MiB and let share pods ask for memory\n"
                 "too: A in step with compute, B and 30 % memory only")
      ->group(kGroup)
      ->type_name("A|B");
}

void add_arrival_flags(CLI::App& sim, SimFlags& flags) {
  constexpr const char* kGroup = "How pods arrive";
  sim.add_option("--inflate", flags.inflate,
                 "shuffle the pods and add more of them, up to RATIO\n"
                 "times the cluster's GPUs [1.3]; 0: each pod once, in\n"
                 "the order of the file")
      ->group(kGroup)
      ->type_name("RATIO");
  sim.add_option("--seed", flags.seeds,
                 "numbers that the random orders are made from, such as\n"
                 "42 or 42,43 or 42-46 [1]")
      ->group(kGroup)
      ->type_name("N")
      ->allow_extra_args(false);
  sim.add_option("--sequence", flags.sequences,
                 "a recorded order of nodes and pods, instead of a random\n"
                 "one; its seed is the number at the end of its name")
      ->group(kGroup)
      ->type_name("FILE")
      ->allow_extra_args(false);
  sim.add_option("--churn", flags.loads,
                 "pods come at random and leave again: offered loads, as\n"
                 "multiples of the cluster's GPUs, such as 0.9,1.0")
      ->group(kGroup)
      ->type_name("LOAD")
      ->allow_extra_args(false);
  sim.add_option("--lifetimes", flags.lifetimes,
                 "with --churn: when it ends, in mean lifetimes [8]")
      ->group(kGroup)
      ->type_name("T");
  sim.add_option("--warmup", flags.warmup, "with --churn: from when on it is measured [3]")
      ->group(kGroup)
      ->type_name("T");
  sim.add_flag("--queue", flags.queue,
               "with --churn: a pod that does not fit waits, instead of\n"
               "being lost")
      ->group(kGroup);
}

void add_policy_flags(CLI::App& sim, SimFlags& flags) {
  constexpr const char* kGroup = "Who decides";
  sim.add_option("--policy", flags.policies,
                 "policies to compare, such as dual-price,fgd; with a\n"
                 "card policy of its own: fgd/spread [dual-price]")
      ->group(kGroup)
      ->type_name("NAME")
      ->allow_extra_args(false);
  sim.add_flag("--list-policies", flags.list_policies, "print the names of all policies and exit")
      ->group(kGroup);
  sim.add_flag("--hold-back", flags.hold_back,
               "a policy may refuse a pod that would fit, to keep cards\n"
               "together for pods that need several")
      ->group(kGroup);
  sim.add_flag("--one-dimension", flags.one_dimension,
               "dual-price: do not put a price on GPU memory")
      ->group(kGroup);
}

void add_output_flags(CLI::App& sim, SimFlags& flags) {
  constexpr const char* kGroup = "Results";
  sim.add_option("-o,--output", flags.output, "table, json or csv [table]")
      ->group(kGroup)
      ->type_name("FORMAT");
  sim.add_option("--report", flags.report, "also write a page with pictures, DIR/index.html")
      ->group(kGroup)
      ->type_name("DIR");
  sim.add_option("--record", flags.record,
                 "also write the decision about the K-th pod that\n"
                 "arrives, with all it depended on; for a single run")
      ->group(kGroup)
      ->type_name("K:FILE");
  sim.add_option("--replay", flags.replay,
                 "decide again what --record wrote, and say if the\n"
                 "outcome is the same; nothing else is simulated")
      ->group(kGroup)
      ->type_name("FILE");
  sim.add_option("--jobs", flags.jobs, "runs at the same time [one for each core]")
      ->group(kGroup)
      ->type_name("N");
  sim.add_flag("--quiet", flags.quiet, "no progress bar and no remarks")->group(kGroup);
  sim.set_help_flag("-h,--help", "print this help and exit")->group(kGroup);
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
