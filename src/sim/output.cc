#include "sim/output.h"

#include <cmath>
#include <filesystem>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "sim/sequence.h"
#include "sim/summary.h"
#include "sim/text.h"
#include "sim/text_table.h"

namespace stowage::sim {
namespace {

constexpr int kPercentDecimals = 4;
constexpr int kSecondsDecimals = 6;

bool queues(const Experiment& experiment) {
  return experiment.churn.admission == ChurnConfig::Admission::queue;
}

void json_refused(base::JsonWriter& json, const KindCounts& refused) {
  json.key("refused").begin_object();
  for (std::size_t kind = 0; kind < kPodKinds; ++kind) {
    json.key(to_string(static_cast<PodKind>(kind))).value(refused[kind]);
  }
  json.end_object();
}

void json_outcome(base::JsonWriter& json, const ReplayResult& result) {
  json.key("allocated_percent").begin_object();
  for (const int percent : kPoints) {
    json.key(std::to_string(percent)).value(result.curve.at(percent), kPercentDecimals);
  }
  json.end_object();
}

void json_outcome(base::JsonWriter& json, const ChurnResult& result) {
  json.key("allocated_percent_mean").value(result.allocated_percent_mean, kPercentDecimals);
  json.key("accepted_gpu_percent").value(result.accepted_gpu_percent, kPercentDecimals);
  json.key("accepted_multi_percent").value(result.accepted_multi_percent, kPercentDecimals);
  json.key("accepted_percent").value(result.accepted_percent, kPercentDecimals);
}

void json_queue(base::JsonWriter& json, const ChurnResult& result) {
  json.key("queue").begin_object();
  json.key("length_mean").value(result.queue_length_mean, kPercentDecimals);
  json.key("wait_mean").value(result.wait.mean, kSecondsDecimals);
  json.key("wait_p99").value(result.wait.p99, kSecondsDecimals);
  json.key("multi_wait_mean").value(result.wait_multi.mean, kSecondsDecimals);
  json.key("multi_wait_p99").value(result.wait_multi.p99, kSecondsDecimals);
  json.end_object();
}

void json_run(base::JsonWriter& json, const Experiment& experiment, const RunResult& run) {
  json.begin_object();
  json.key("policy").value(run.policy);
  json.key("seed").value(run.seed);
  if (!run.sequence.empty()) json.key("sequence").value(run.sequence);
  if (run.load) json.key("load").value(*run.load, kPercentDecimals);
  json.key("nodes").value(experiment.nodes);
  json.key("gpus").value(experiment.cards);
  std::visit(
      [&](const auto& outcome) {
        json_outcome(json, outcome);
        json.key("arrived").value(outcome.arrived);
        json.key("placed").value(outcome.placed);
        json_refused(json, outcome.refused);
        json.key("held_back").value(outcome.counters.held_back);
        json.key("decisions").value(outcome.counters.decisions);
        json.key("models_learned").value(outcome.counters.models_learned);
        json.key("wall_seconds").value(outcome.wall_seconds, kSecondsDecimals);
      },
      run.outcome);
  if (run.load && queues(experiment)) json_queue(json, std::get<ChurnResult>(run.outcome));
  json.key("peak_rss_mib").value(experiment.peak_rss_mib, 1);
  json.end_object();
}

std::string render_json(const Experiment& experiment) {
  base::JsonWriter json;
  if (experiment.runs.size() == 1) {
    json_run(json, experiment, experiment.runs.front());
    return json.take();
  }
  json.begin_array();
  for (const RunResult& run : experiment.runs) json_run(json, experiment, run);
  json.end_array();
  return json.take();
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string number(std::optional<double> value, int decimals, const char* absent) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : absent;
}

using Cells = std::vector<std::string>;

Cells csv_head(const Experiment& experiment, bool churned) {
  Cells head{"policy", "seed", "sequence"};
  if (churned) {
    head.insert(head.end(), {"load", "allocated_percent_mean", "accepted_gpu_percent",
                             "accepted_multi_percent", "accepted_percent"});
  } else {
    for (const int percent : kPoints) head.push_back(fmt::format("allocated_percent_{}", percent));
  }
  head.insert(head.end(), {"arrived", "placed", "refused_cpu", "refused_share", "refused_whole",
                           "refused_multi", "held_back", "decisions", "wall_seconds"});
  if (churned && queues(experiment)) {
    head.insert(head.end(), {"queue_length_mean", "wait_mean", "wait_p99", "multi_wait_mean",
                             "multi_wait_p99"});
  }
  head.emplace_back("peak_rss_mib");
  return head;
}

void csv_outcome(Cells& cells, const ReplayResult& result) {
  for (const int percent : kPoints) {
    cells.push_back(number(result.curve.at(percent), kPercentDecimals, ""));
  }
}

void csv_outcome(Cells& cells, const ChurnResult& result) {
  cells.push_back(number(result.allocated_percent_mean, kPercentDecimals, ""));
  cells.push_back(number(result.accepted_gpu_percent, kPercentDecimals, ""));
  cells.push_back(number(result.accepted_multi_percent, kPercentDecimals, ""));
  cells.push_back(number(result.accepted_percent, kPercentDecimals, ""));
}

Cells csv_row(const Experiment& experiment, const RunResult& run) {
  Cells cells{run.policy, std::to_string(run.seed), csv_field(run.sequence)};
  if (run.load) cells.push_back(number(run.load, kPercentDecimals, ""));
  std::visit(
      [&](const auto& outcome) {
        csv_outcome(cells, outcome);
        cells.push_back(std::to_string(outcome.arrived));
        cells.push_back(std::to_string(outcome.placed));
        for (const std::int64_t refused : outcome.refused) cells.push_back(std::to_string(refused));
        cells.push_back(std::to_string(outcome.counters.held_back));
        cells.push_back(std::to_string(outcome.counters.decisions));
        cells.push_back(number(outcome.wall_seconds, kSecondsDecimals, ""));
      },
      run.outcome);
  if (run.load && queues(experiment)) {
    const auto& result = std::get<ChurnResult>(run.outcome);
    for (const double value : {result.queue_length_mean, result.wait.mean, result.wait.p99,
                               result.wait_multi.mean, result.wait_multi.p99}) {
      cells.push_back(number(value, kSecondsDecimals, ""));
    }
  }
  cells.push_back(number(experiment.peak_rss_mib, 1, ""));
  return cells;
}

std::string render_csv(const Experiment& experiment) {
  const bool churned = experiment.runs.front().load.has_value();
  std::string text = fmt::format("{}\n", fmt::join(csv_head(experiment, churned), ","));
  for (const RunResult& run : experiment.runs) {
    text += fmt::format("{}\n", fmt::join(csv_row(experiment, run), ","));
  }
  return text;
}

// Identifies one of several runs of a policy.
std::string run_name(const RunResult& run) {
  if (run.sequence.empty()) return std::to_string(run.seed);
  std::string stem = std::filesystem::path(run.sequence).stem().string();
  if (seed_in_name(run.sequence).value_or(1) == run.seed) return stem;
  return fmt::format("{} / {}", stem, run.seed);
}

std::string count(double number) { return grouped(std::llround(number)); }

Cells table_head(const Experiment& experiment, bool churned) {
  Cells head{"policy"};
  if (churned) head.emplace_back("load");
  head.emplace_back(experiment.runs.front().sequence.empty() ? "seed" : "sequence");
  if (churned) {
    head.insert(head.end(), {"alloc %", "GPU %", "multi %", "all %"});
    if (queues(experiment)) head.insert(head.end(), {"mean", "p99", "mean", "p99", "length"});
  } else {
    for (const int percent : kPoints) head.push_back(fmt::format("{} %", percent));
  }
  head.insert(head.end(), {"placed", "cpu", "share", "whole", "multi", "seconds"});
  return head;
}

// One row: a single run (as a summary of itself), or the mean of several runs.
Cells table_row(const Experiment& experiment, const Summary& summary, std::string name) {
  constexpr int kDecimals = 2;
  Cells cells{summary.policy};
  if (summary.load) cells.push_back(fmt::format("{:g}", *summary.load));
  cells.push_back(std::move(name));
  if (summary.load) {
    cells.push_back(number(summary.allocated_percent_mean, kDecimals, "-"));
    cells.push_back(number(summary.accepted_gpu_percent, kDecimals, "-"));
    cells.push_back(number(summary.accepted_multi_percent, kDecimals, "-"));
    cells.push_back(number(summary.accepted_percent, kDecimals, "-"));
    if (queues(experiment)) {
      for (const double wait :
           {summary.wait, summary.wait_p99, summary.wait_multi, summary.wait_multi_p99}) {
        cells.push_back(fmt::format("{:.4f}", wait));
      }
      cells.push_back(fmt::format("{:.1f}", summary.queue_length));
    }
  } else {
    for (const int percent : kPoints) cells.push_back(number(summary.at(percent), kDecimals, "-"));
  }
  cells.push_back(count(summary.placed));
  for (const double refused : summary.refused) cells.push_back(count(refused));
  cells.push_back(fmt::format("{:.2f}", summary.wall_seconds));
  return cells;
}

TextTable make_table(const Experiment& experiment, bool churned) {
  TextTable table(table_head(experiment, churned), churned ? 1 : 2);
  if (!churned) {
    table.group(2, kPoints.size(), "allocated % when arrived is");
    table.group(2 + kPoints.size() + 1, kPodKinds, "refused pods");
    return table;
  }
  table.group(4, 3, "accepted");
  std::size_t at = 7;
  if (queues(experiment)) {
    table.group(7, 2, "wait");
    table.group(9, 2, "wait multi");
    table.group(11, 1, "queue");
    at = 12;
  }
  table.group(at + 1, kPodKinds, queues(experiment) ? "never placed" : "lost pods");
  return table;
}

std::string render_table(const Experiment& experiment) {
  const bool churned = experiment.runs.front().load.has_value();
  TextTable table = make_table(experiment, churned);
  std::size_t at = 0;
  bool first = true;
  for (const Summary& summary : summarise(experiment)) {
    if (summary.runs > 1 && !first) table.rule();
    first = false;
    for (std::size_t i = 0; i < summary.runs; ++i, ++at) {
      Experiment alone;
      alone.runs.push_back(experiment.runs[at]);
      table.row(table_row(experiment, summarise(alone).front(), run_name(experiment.runs[at])));
    }
    if (summary.runs > 1) table.row(table_row(experiment, summary, "mean"));
  }
  return headline(experiment) + "\n\n" + table.text();
}

}  // namespace

std::string headline(const Experiment& experiment) {
  std::string text = fmt::format("{} node{} with {} GPU{} ({})", grouped(experiment.nodes),
                                 experiment.nodes == 1 ? "" : "s", grouped(experiment.cards),
                                 experiment.cards == 1 ? "" : "s", experiment.source);
  if (experiment.memory != MemoryShare::none) {
    text += fmt::format(", GPU memory variant {}",
                        experiment.memory == MemoryShare::follows_milli ? "A" : "B");
  }
  if (experiment.runs.front().load) {
    text += fmt::format("; pods arrive and leave, lifetimes {:g} to {:g}", experiment.churn.warmup,
                        experiment.churn.lifetimes);
    if (queues(experiment)) text += ", pods wait until they fit (waits in lifetimes)";
  } else if (experiment.inflate > 0) {
    text += fmt::format("; pods arrive up to {:g} % of the GPUs", 100 * experiment.inflate);
  } else {
    text += "; pods arrive as recorded";
  }
  return text;
}

std::string render(const Experiment& experiment, OutputFormat format) {
  switch (format) {
    case OutputFormat::json: return render_json(experiment);
    case OutputFormat::csv: return render_csv(experiment);
    case OutputFormat::table: break;
  }
  return render_table(experiment);
}

}  // namespace stowage::sim
