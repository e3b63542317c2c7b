// What rules between pods, refusals and a long queue cost the engine, in a cluster of 5,000 nodes
// with 8 cards each, three quarters full. CPU time of the thread, so that other processes do not
// count. Results are a table and a JSON file; nothing here passes or fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/rng.h"
#include "base/version.h"
#include "core/engine/engine.h"

namespace stowage::bench {
namespace {

using core::Commands;
using core::Engine;
using core::PodSpec;

constexpr int kNodes = 5000;
constexpr int kZones = 10;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

core::NodeSpec make_node(int i) {
  core::NodeSpec node;
  node.name = fmt::format("node-{:05}", i);
  node.allocatable = {.cpu_milli = 128000, .memory_bytes = std::int64_t{1} << 40U, .pods = 250};
  node.labels = {{"kubernetes.io/hostname", node.name}, {"zone", fmt::format("z{}", i % kZones)}};
  for (int c = 0; c < 8; ++c) {
    node.cards.push_back(
        {.id = fmt::format("{}/{}", node.name, c), .index = c, .memory_mib = 81920});
  }
  return node;
}

PodSpec make_pod(const std::string& name, int cards) {
  PodSpec pod{.uid = name, .name = "bench/" + name};
  core::ContainerSpec container{.name = "main"};
  container.resources.cpu_milli = 4000;
  container.gpu.count = cards;
  pod.containers.push_back(std::move(container));
  pod.constraints.labels = {{"app", "plain"}};
  return pod;
}

core::LabelSelector app(const std::string& name) {
  return {.all = {{.key = "app", .values = {name}}}};
}

// Times of handling one event each.
struct Times {
  std::vector<double> us;
  void add(double seconds) { us.push_back(seconds * 1e6); }
  double at(double quantile) {
    if (us.empty()) return 0;
    std::sort(us.begin(), us.end());
    return us[static_cast<std::size_t>(quantile * static_cast<double>(us.size() - 1))];
  }
};

// A cluster whose pods come and go.
class Cluster {
 public:
  explicit Cluster(int pods_per_node = 6)
      : engine_({core::PolicyOptions{}}, {.patience_ns = 60'000'000'000}) {
    for (int i = 0; i < kNodes; ++i) (void)engine_.handle(core::NodeChanged{make_node(i)}, now());
    for (int i = 0; i < kNodes * pods_per_node; ++i)
      churn_in(make_pod(fmt::format("old-{}", i), 1));
  }

  // Handles the event; adds the time to `times` if set. Binds are confirmed.
  Commands tell(const core::Event& event, Times* times = nullptr) {
    const double start = cpu_seconds();
    Commands commands = engine_.handle(event, now());
    if (times != nullptr) times->add(cpu_seconds() - start);
    for (const auto& command : commands) {
      const auto* bind = std::get_if<core::Bind>(&command);
      if (bind == nullptr) continue;
      (void)engine_.handle(core::BindDone{bind->uid}, now());
      running_.push_back(bind->uid);
    }
    return commands;
  }
  void churn_in(const PodSpec& pod, Times* times = nullptr) { tell(core::PodPending{pod}, times); }
  // A running pod ends.
  void churn_out(Times* times = nullptr) {
    const std::size_t at = rng_.below(running_.size());
    const std::string uid = running_[at];
    running_[at] = running_.back();
    running_.pop_back();
    tell(core::PodGone{uid}, times);
  }
  Engine& engine() { return engine_; }

 private:
  base::Instant now() { return {++clock_ * 1'000'000}; }
  Engine engine_;
  base::Rng rng_{7};
  std::vector<std::string> running_;
  std::int64_t clock_ = 0;
};

struct Line {
  std::string name;
  double p50 = 0;
  double p99 = 0;
  double longest = 0;
  std::size_t events = 0;
};

Line line(std::string name, Times times) {
  Line made{.name = std::move(name), .events = times.us.size()};
  made.p50 = times.at(0.5);
  made.p99 = times.at(0.99);
  made.longest = times.at(1);
  std::printf("%-44s %10.1f %10.1f %12.1f\n", made.name.c_str(), made.p50, made.p99, made.longest);
  std::fflush(stdout);
  return made;
}

// Pods of one kind come, and as many leave.
Line placing(Cluster& cluster, const std::string& name,
             const std::function<void(PodSpec&, int)>& change) {
  Times times;
  for (int i = 0; i < 3000; ++i) {
    PodSpec pod = make_pod(fmt::format("{}-{}", name, i), 1);
    change(pod, i);
    cluster.churn_in(pod, &times);
    cluster.churn_out();
  }
  return line("place: " + name, std::move(times));
}

Line refusing(Cluster& cluster, const std::string& name,
              const std::function<void(PodSpec&, int)>& change) {
  Times times;
  for (int i = 0; i < 300; ++i) {
    PodSpec pod = make_pod(fmt::format("{}-{}", name, i), 1);
    change(pod, i);
    cluster.churn_in(pod, &times);
    (void)cluster.tell(core::PodGone{pod.uid});
  }
  return line("refuse: " + name, std::move(times));
}

// Other pods come and go while this many wait.
std::vector<Line> beside_waiting(const std::string& name, int waiting,
                                 const std::function<void(PodSpec&, int)>& change) {
  Cluster cluster;
  for (int i = 0; i < waiting; ++i) {
    PodSpec pod = make_pod(fmt::format("waiting-{}", i), 9);
    change(pod, i);
    cluster.churn_in(pod);
  }
  Times in;
  Times out;
  for (int i = 0; i < 5000; ++i) {
    cluster.churn_in(make_pod(fmt::format("beside-{}", i), 1), &in);
    cluster.churn_out(&out);
  }
  return {line(fmt::format("place, {} {} waiting", waiting, name), std::move(in)),
          line(fmt::format("leave, {} {} waiting", waiting, name), std::move(out))};
}

std::vector<Line> measure() {
  std::vector<Line> lines;
  const auto plain = [](PodSpec&, int) {};
  const auto apart = [](PodSpec& pod, int i) {
    const std::string name = fmt::format("apart-{}", i % 100);
    pod.constraints.labels = {{"app", name}};
    pod.constraints.anti_affinity = {
        {.selector = app(name), .namespaces = {"bench"}, .topology_key = "kubernetes.io/hostname"}};
  };
  const auto spread = [](PodSpec& pod, int i) {
    const std::string name = fmt::format("spread-{}", i % 100);
    pod.constraints.labels = {{"app", name}};
    pod.constraints.spread = {{.topology_key = "zone", .max_skew = 1, .selector = app(name)}};
  };
  const auto near = [](PodSpec& pod, int i) {
    const std::string name = fmt::format("near-{}", i % 100);
    pod.constraints.labels = {{"app", name}};
    pod.constraints.affinity = {
        {.selector = app(name), .namespaces = {"bench"}, .topology_key = "zone"}};
  };
  {
    Cluster cluster;
    lines.push_back(placing(cluster, "no rules", plain));
    lines.push_back(placing(cluster, "anti-affinity by host", apart));
    lines.push_back(placing(cluster, "spread over zones", spread));
    lines.push_back(placing(cluster, "affinity by zone", near));
    lines.push_back(placing(cluster, "one in five with rules", [&](PodSpec& pod, int i) {
      if (i % 15 == 0) apart(pod, i);
      if (i % 15 == 5) spread(pod, i);
      if (i % 15 == 10) near(pod, i);
    }));
    lines.push_back(placing(cluster, "no rules, others have some", plain));
    const auto many = [](PodSpec& pod, int i) { pod.containers[0].gpu.count = 9 + i % 50; };
    lines.push_back(refusing(cluster, "too many cards", many));
    lines.push_back(refusing(cluster, "no pod near", [&](PodSpec& pod, int i) {
      pod.constraints.affinity = {{.selector = app(fmt::format("nobody-{}", i)),
                                   .namespaces = {"bench"},
                                   .topology_key = "zone"}};
    }));
    lines.push_back(refusing(cluster, "nobody to evict helps", [&](PodSpec& pod, int i) {
      many(pod, i);
      pod.priority = 100 + i;
    }));
  }
  {
    Cluster full(8);
    lines.push_back(refusing(full, "evicts eight in a full cluster", [&](PodSpec& pod, int i) {
      pod.containers[0].gpu.count = 8;
      pod.priority = 1000 + i;
    }));
  }
  const auto distinct = [](PodSpec& pod, int i) { pod.containers[0].resources.cpu_milli += i; };
  const auto lonely = [](PodSpec& pod, int i) {
    pod.containers[0].gpu.count = 1;
    pod.constraints.affinity = {{.selector = app(fmt::format("nobody-{}", i)),
                                 .namespaces = {"bench"},
                                 .topology_key = "zone"}};
  };
  for (auto& [name, waiting, change] :
       std::vector<std::tuple<std::string, int, std::function<void(PodSpec&, int)>>>{
           {"pods", 0, plain},
           {"twins", 10000, plain},
           {"different pods", 10000, distinct},
           {"pods that miss others", 10000, lonely}}) {
    for (auto& made : beside_waiting(name, waiting, change)) lines.push_back(std::move(made));
  }
  return lines;
}

int run(const std::string& out) {
  std::printf("%-44s %10s %10s %12s\n", "5,000 nodes x 8 cards, 30,000 pods", "p50 us", "p99 us",
              "longest us");
  base::JsonWriter json;
  json.begin_object();
  json.key("version").value(std::string(base::kVersion));
  json.key("lines").begin_array();
  for (const Line& made : measure()) {
    json.begin_object();
    json.key("name").value(made.name);
    json.key("p50_us").value(made.p50, 1);
    json.key("p99_us").value(made.p99, 1);
    json.key("longest_us").value(made.longest, 1);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  if (!out.empty()) std::ofstream(out) << json.take() << "\n";
  return 0;
}

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) {
  const bool named = argc == 3 && std::string(argv[1]) == "--out";
  if (argc != 1 && !named) {
    std::fprintf(stderr, "usage: stowage_rules_bench [--out FILE]\n");
    return 2;
  }
  return stowage::bench::run(named ? argv[2] : "");
}
