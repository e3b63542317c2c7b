// How fast the engine decides, per policy and size of cluster.
//
// Clusters of 8-card nodes, half full; pods in the proportions of the openb trace, and among them
// 30 percent that cannot fit anywhere, each refused with its full reasons. Every placed pod makes
// an earlier one leave, so that the cluster stays half full and every ranking keeps changing;
// learning is on. Latency is that of handling one PodPending; the rate counts all the engine's
// time, the departures included. Results are a table and a JSON file; nothing here passes or fails.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/rng.h"
#include "base/version.h"
#include "core/engine/engine.h"
#include "sim/generator.h"
#include "sim/trace.h"

namespace stowage::bench {
namespace {

// Wall time by default. Thread CPU time excludes what other processes on a shared machine take;
// reading it costs a system call, about 0.3 microseconds per decision.
bool use_cpu_time = false;

double now_seconds() {
  if (!use_cpu_time) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Settings {
  std::string out;
  std::vector<std::string> policies;
  std::vector<std::int64_t> nodes{1000, 10000, 100000};
  double budget_seconds = 4;  // of measuring, per cell
};

struct Cell {
  std::string policy;
  std::int64_t nodes = 0;
  std::uint64_t decisions = 0;
  double rate = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double longest_us = 0;
  double judged_per_decision = 0;
  double refused_percent = 0;
  std::uint64_t models_learned = 0;
  double first_us = 0;  // the first decision about a new shape
};

core::NodeSpec bench_node(std::int64_t i) {
  static const char* const kModels[] = {"G2", "G2", "G2", "G2", "G2", "T4", "V100", "G3"};
  core::NodeSpec node;
  node.name = fmt::format("node-{:06}", i);
  node.allocatable.cpu_milli = i % 8 == 7 ? 128000 : 96000;
  node.allocatable.memory_bytes = std::int64_t{768} << 30U;
  node.allocatable.pods = 250;
  for (int c = 0; c < 8; ++c) {
    core::Card card;
    card.id = fmt::format("{}/{}", node.name, c);
    card.index = c;
    card.model = kModels[i % 8];
    card.memory_mib = 32768;
    node.cards.push_back(std::move(card));
  }
  return node;
}

// Pods that fit nowhere, each for another reason.
std::vector<core::PodSpec> impossible_pods() {
  std::vector<core::PodSpec> pods;
  const auto add = [&pods](auto&& change) {
    core::PodSpec pod;
    pod.name = "bench/impossible";
    pod.containers.resize(1);
    pod.containers[0].name = "main";
    pod.containers[0].resources.cpu_milli = 4000;
    pod.containers[0].gpu.count = 1;
    change(pod.containers[0]);
    pods.push_back(std::move(pod));
  };
  add([](auto& c) { c.gpu.count = 16; });
  add([](auto& c) { c.gpu.filter.models_any = {"A100"}; });
  add([](auto& c) { c.gpu.memory_mib = 65536; });
  add([](auto& c) { c.resources.cpu_milli = 500000; });
  add([](auto& c) { c.resources.memory_bytes = std::int64_t{4} << 40U; });
  add([](auto& c) {
    c.gpu.milli = 500;
    c.gpu.memory_mib = 40000;
  });
  return pods;
}

class Run {
 public:
  Run(const std::string& policy, std::int64_t nodes)
      : engine_(options_for(policy)), trace_(sim::synthetic_trace(2000, 7)), rng_(11) {
    cell_.policy = policy;
    cell_.nodes = nodes;
    impossible_ = impossible_pods();
    for (std::int64_t i = 0; i < nodes; ++i) {
      (void)engine_.handle(core::NodeChanged{bench_node(i)}, {});
    }
    fill(nodes);
  }

  Cell measure(double budget_seconds) {
    warm_up(budget_seconds);
    const auto before = engine_.counters();
    engine_seconds_ = 0;
    latencies_us_.clear();
    const auto start = now_seconds();
    while (latencies_us_.size() < 1000 || seconds_since(start) < budget_seconds) decide();
    const auto after = engine_.counters();
    cell_.decisions = latencies_us_.size();
    cell_.rate = static_cast<double>(cell_.decisions) / engine_seconds_;
    cell_.judged_per_decision = static_cast<double>(after.nodes_judged - before.nodes_judged) /
                                static_cast<double>(cell_.decisions);
    cell_.refused_percent = 100.0 * static_cast<double>(after.refused - before.refused) /
                            static_cast<double>(cell_.decisions);
    cell_.models_learned = after.models_learned - before.models_learned;
    std::sort(latencies_us_.begin(), latencies_us_.end());
    const auto at = [this](double q) {
      const auto last = static_cast<double>(latencies_us_.size() - 1);
      return latencies_us_[static_cast<std::size_t>(q * last)];
    };
    cell_.p50_us = at(0.50);
    cell_.p99_us = at(0.99);
    cell_.p999_us = at(0.999);
    cell_.longest_us = latencies_us_.back();
    return cell_;
  }

 private:
  static core::PolicyOptions options_for(const std::string& policy) {
    core::PolicyOptions options;
    const auto choice = core::parse_policy(policy);
    if (!choice) {
      fmt::print(stderr, "stowage_bench: {}\n", choice.error().message);
      std::exit(2);
    }
    options.choice = *choice;
    return options;
  }

  static double seconds_since(double start) { return now_seconds() - start; }

  core::PodSpec draw() {
    const auto& pod = trace_.pods[rng_.below(trace_.pods.size())];
    return sim::to_pod_spec(pod, fmt::format("pod-{}", next_++));
  }

  // Half of all cards, spread over all nodes as after a long time of churn. The same for every
  // policy.
  void fill(std::int64_t nodes) {
    struct Free {
      std::int64_t cpu = 96000;
      std::vector<std::int32_t> cards = std::vector<std::int32_t>(8, 1000);
    };
    std::vector<Free> free(static_cast<std::size_t>(nodes));
    std::int64_t left = nodes * 8 * 1000 / 2;
    while (left > 0) {
      core::PodSpec pod = draw();
      const auto& ask = pod.containers[0];
      const auto node = rng_.below(free.size());
      Free& f = free[node];
      if (ask.gpu.count == 0 || ask.gpu.filter.constrains_models()) continue;
      if (f.cpu < ask.resources.cpu_milli) continue;
      const std::int32_t milli = ask.gpu.milli.value_or(1000);
      core::Assignment cards;
      cards.containers.resize(1);
      for (std::uint32_t c = 0; c < 8; ++c) {
        if (static_cast<std::int32_t>(cards.containers[0].size()) == ask.gpu.count) break;
        if (f.cards[c] >= milli) {
          cards.containers[0].push_back({c, milli, milli == 1000 ? 32768 : 0});
        }
      }
      if (static_cast<std::int32_t>(cards.containers[0].size()) < ask.gpu.count) continue;
      for (const auto& share : cards.containers[0]) f.cards[share.card] -= milli;
      const std::string on = fmt::format("node-{:06}", node);
      const core::NodeSpec& spec = engine_.ledger().nodes().spec(engine_.ledger().nodes().find(on));
      f.cpu -= ask.resources.cpu_milli;
      left -= std::int64_t{milli} * ask.gpu.count;
      running_.push_back(pod.uid);
      (void)engine_.handle(core::PodSeenBound{std::move(pod), on, core::by_id(cards, spec)}, {});
    }
  }

  // Until every shape has its ranking.
  void warm_up(double budget_seconds) {
    const auto start = now_seconds();
    decide();
    cell_.first_us = latencies_us_.back();
    for (std::size_t i = 0; i < 3 * trace_.pods.size(); ++i) {
      decide();
      if (i > 500 && seconds_since(start) > 2 * budget_seconds) return;
    }
  }

  template <typename E>
  core::Commands timed(E&& event, double* took_us = nullptr) {
    const core::Event wrapped{std::forward<E>(event)};
    const auto start = now_seconds();
    auto commands = engine_.handle(wrapped, {});
    const double seconds = seconds_since(start);
    engine_seconds_ += seconds;
    if (took_us != nullptr) *took_us = seconds * 1e6;
    return commands;
  }

  void decide() {
    core::PodSpec pod = draw();
    if (rng_.below(10) < 3) {
      const std::string uid = pod.uid;
      pod = impossible_[rng_.below(impossible_.size())];
      pod.uid = uid;
    }
    const std::string uid = pod.uid;
    double took_us = 0;
    const auto commands = timed(core::PodPending{std::move(pod)}, &took_us);
    latencies_us_.push_back(took_us);
    if (commands.empty() || !std::holds_alternative<core::Bind>(commands.front())) {
      (void)timed(core::PodGone{uid});
      return;
    }
    (void)timed(core::BindDone{uid});
    const std::size_t leaves = rng_.below(running_.size());
    (void)timed(core::PodGone{running_[leaves]});
    running_[leaves] = uid;
  }

  core::Engine engine_;
  sim::Trace trace_;
  base::Rng rng_;
  std::vector<core::PodSpec> impossible_;
  std::vector<std::string> running_;
  std::uint64_t next_ = 0;
  double engine_seconds_ = 0;
  std::vector<double> latencies_us_;
  Cell cell_;
};

void print_header() {
  fmt::print("{:16} {:>7} {:>10} {:>9} {:>9} {:>9} {:>10} {:>9} {:>8}\n", "policy", "nodes",
             "decisions/s", "p50 us", "p99 us", "p99.9 us", "longest us", "judged", "refused");
}

void print(const Cell& c) {
  fmt::print("{:16} {:>7} {:>10.0f} {:>9.1f} {:>9.1f} {:>9.1f} {:>10.1f} {:>9.1f} {:>7.1f}%\n",
             c.policy, c.nodes, c.rate, c.p50_us, c.p99_us, c.p999_us, c.longest_us,
             c.judged_per_decision, c.refused_percent);
  std::fflush(stdout);
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string to_json(const std::vector<Cell>& cells) {
  base::JsonWriter json;
  json.begin_object();
  json.key("version").value(std::string(base::kVersion));
  json.key("processor").value(processor());
  json.key("cores").value(static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  json.key("clock").value(use_cpu_time ? "thread cpu" : "wall");
  json.key("cells").begin_array();
  for (const auto& c : cells) {
    json.begin_object();
    json.key("policy").value(c.policy);
    json.key("nodes").value(c.nodes);
    json.key("decisions").value(static_cast<std::int64_t>(c.decisions));
    json.key("decisions_per_second").value(c.rate, 2);
    json.key("p50_us").value(c.p50_us, 2);
    json.key("p99_us").value(c.p99_us, 2);
    json.key("p99_9_us").value(c.p999_us, 2);
    json.key("longest_us").value(c.longest_us, 2);
    json.key("nodes_judged_per_decision").value(c.judged_per_decision, 2);
    json.key("refused_percent").value(c.refused_percent, 2);
    json.key("models_learned").value(static_cast<std::int64_t>(c.models_learned));
    json.key("first_of_a_shape_us").value(c.first_us, 2);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  settings.policies = core::policy_names();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--out") {
      settings.out = value;
    } else if (flag == "--policy") {
      settings.policies = split(value);
    } else if (flag == "--nodes") {
      settings.nodes.clear();
      for (const auto& n : split(value)) settings.nodes.push_back(std::atoll(n.c_str()));
    } else if (flag == "--clock") {
      use_cpu_time = value == "cpu";
    } else if (flag == "--seconds") {
      settings.budget_seconds = std::atof(value.c_str());
    } else {
      fmt::print(stderr, "stowage_bench: unknown flag {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

int run(const Settings& settings) {
  std::vector<Cell> cells;
  print_header();
  for (const auto& policy : settings.policies) {
    for (const auto nodes : settings.nodes) {
      Run run(policy, nodes);
      cells.push_back(run.measure(settings.budget_seconds));
      print(cells.back());
    }
  }
  if (settings.out.empty()) return 0;
  std::ofstream file(settings.out);
  file << to_json(cells);
  file.flush();
  if (!file) {
    fmt::print(stderr, "stowage_bench: cannot write {}\n", settings.out);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) { return stowage::bench::run(stowage::bench::parse(argc, argv)); }
