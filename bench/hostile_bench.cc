// What hostile authors cost the controller: 300 nodes, and 1,000 pods in which one list is as long
// as the API server accepts, for every kind of list; then the same with lists as long as our limits
// allow, bound to nodes, and all of it as after a restart. CPU time of the thread for the longest
// event, separately for the loop (from the text of an object to an event) and for the engine; heap
// bytes beyond the texts themselves. Results are a table and a JSON file; the exit status says
// whether all is within the bounds.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/version.h"
#include "tests/hostile/controller.h"
#include "tests/hostile/objects.h"

namespace stowage::hostile {
namespace {

constexpr int kNodes = 300;
constexpr std::size_t kPods = 1000;
constexpr double kEngineMs = 20;
constexpr double kBeyondMib = 250;
constexpr double kMib = 1 << 20U;

struct Line {
  std::string part;
  std::string what;
  std::size_t objects = 0;
  double object_mib = 0;  // of all of them
  double decode_ms = 0;
  double engine_ms = 0;
  double heap_mib = 0;  // more than before
};

class Bench {
 public:
  // Runs the parts whose names begin with this.
  void run(const std::string& which) {
    const auto wanted = [&](const std::string& part) { return part.starts_with(which); };
    std::printf("%-28s %-34s %7s %9s %10s %10s %9s\n", "part", "what", "objects", "MiB",
                "decode ms", "engine ms", "heap MiB");
    for (const Size size : {Size::largest, Size::within_limits}) {
      const std::string name = size == Size::largest ? "largest" : "within limits";
      if (wanted(name + ", pending")) pods(name + ", pending", size, false);
      if (wanted(name + ", bound")) pods(name + ", bound", size, true);
      if (size == Size::within_limits && wanted("searches")) scattered("searches");
      if (wanted(name + ", other kinds")) aux_objects(name + ", other kinds", size);
      if (wanted(name + ", nodes")) nodes(name + ", nodes", size);
    }
    if (wanted("extender")) bodies("extender");
    if (wanted("preempt")) preemption("preempt");
  }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

 private:
  void add(Line line) {
    std::printf("%-28s %-34s %7zu %9.1f %10.2f %10.2f %9.1f\n", line.part.c_str(),
                line.what.c_str(), line.objects, line.object_mib, line.decode_ms, line.engine_ms,
                line.heap_mib);
    std::fflush(stdout);
    if (line.engine_ms > kEngineMs || line.heap_mib - line.object_mib > kBeyondMib) good_ = false;
    lines_.push_back(std::move(line));
  }

  static void add_nodes(Controller& controller) {
    for (int n = 0; n < kNodes; ++n) {
      controller.upsert_node(node_json(nullptr, fmt::format("node-{}", n), Size::within_limits));
    }
  }

  static double heap_mib() { return static_cast<double>(heap_bytes()) / kMib; }

  // Ordinary pods come and go beside the existing ones; some have a higher priority.
  using PodText = std::string (*)(const std::string& name, int priority, const std::string& node);
  void churn(Controller& controller, const std::string& part, const std::string& what,
             PodText text = plain_pod_json) {
    const double before = heap_mib();
    (void)controller.take_longest();
    std::vector<std::string> there;
    for (int i = 0; i < 3000; ++i) {
      const std::string name = fmt::format("plain-{}", i);
      controller.upsert_pod(text(name, i % 10 == 0 ? 100 : 0, ""));
      there.push_back(name);
      if (there.size() > 500) {
        controller.remove_pod(there.front());
        there.erase(there.begin());
      }
      if (i % 100 == 0) controller.tick();
    }
    for (const auto& name : there) controller.remove_pod(name);
    const auto longest = controller.take_longest();
    add({.part = part,
         .what = what,
         .objects = 3000,
         .decode_ms = longest.decode,
         .engine_ms = longest.engine,
         .heap_mib = heap_mib() - before});
  }

  static std::string node_of(std::size_t i, bool bound) {
    // Some nodes have many of them.
    return bound ? fmt::format("node-{}", i % 3 == 0 ? i % 5 : i % kNodes) : std::string();
  }

  void pods(const std::string& part, Size size, bool bound) {
    const auto& kinds = pod_kinds();
    std::map<std::size_t, Line> by_kind;
    const double start = heap_mib();
    Line all{.part = part, .what = "all of them", .objects = kPods};
    {
      Controller controller;
      add_nodes(controller);
      const double empty = heap_mib();
      (void)controller.take_longest();
      for (std::size_t i = 0; i < kPods; ++i) {
        const Kind& kind = kinds[i % kinds.size()];
        const double before = heap_mib();
        double text_mib = 0;
        {
          const std::string json =
              pod_json(kind, {.number = i, .size = size, .node = node_of(i, bound)});
          text_mib = static_cast<double>(json.size()) / kMib;
          controller.upsert_pod(json);
          if (i % 50 == 0) controller.ask_extender(json);
        }
        const auto longest = controller.take_longest();
        Line& line = by_kind[i % kinds.size()];
        line.part = part;
        line.what = kind.name;
        ++line.objects;
        line.object_mib += text_mib;
        line.decode_ms = std::max(line.decode_ms, longest.decode);
        line.engine_ms = std::max(line.engine_ms, longest.engine);
        line.heap_mib += heap_mib() - before;
      }
      for (auto& [at, line] : by_kind) {
        all.object_mib += line.object_mib;
        all.decode_ms = std::max(all.decode_ms, line.decode_ms);
        all.engine_ms = std::max(all.engine_ms, line.engine_ms);
        add(line);
      }
      all.heap_mib = heap_mib() - empty;
      add(all);
      churn(controller, part, "ordinary pods beside them");
      for (std::size_t i = 0; i < kPods; ++i)
        controller.remove_pod(pod_uid(kinds[i % kinds.size()], i));
      churn(controller, part, "and when they have gone");
      const auto longest = controller.take_longest();
      add({.part = part,
           .what = "left when they have gone",
           .decode_ms = longest.decode,
           .engine_ms = longest.engine,
           .heap_mib = heap_mib() - empty});
    }
    restart(part, size, bound);
    add({.part = part, .what = "left of the controller", .heap_mib = heap_mib() - start});
  }

  // Pods come before their nodes, all at once.
  void restart(const std::string& part, Size size, bool bound) {
    const auto& kinds = pod_kinds();
    Controller controller;
    const double empty = heap_mib();
    Line line{.part = part, .what = "all there at a restart", .objects = kPods};
    for (std::size_t i = 0; i < kPods; ++i) {
      const std::string json =
          pod_json(kinds[i % kinds.size()], {.number = i, .size = size, .node = node_of(i, bound)});
      line.object_mib += static_cast<double>(json.size()) / kMib;
      controller.upsert_pod(json);
    }
    add_nodes(controller);
    for (int i = 0; i < 20; ++i) controller.tick();
    const auto longest = controller.take_longest();
    line.decode_ms = longest.decode;
    line.engine_ms = longest.engine;
    line.heap_mib = heap_mib() - empty;
    add(line);
  }

  // Pods for whose cards there are very many combinations to try.
  void scattered(const std::string& part) {
    Controller controller;
    const double before = heap_mib();
    for (int n = 0; n < kNodes; ++n) {
      controller.upsert_node(share_node_json(fmt::format("node-{}", n)));
    }
    Line line{.part = part, .what = "shares that fit by their sum", .objects = kPods};
    (void)controller.take_longest();
    for (std::size_t i = 0; i < kPods; ++i) {
      const std::string json = scattered_pod_json(i, static_cast<int>(i % 3));
      line.object_mib += static_cast<double>(json.size()) / kMib;
      controller.upsert_pod(json);
      if (i % 50 == 0) controller.tick();
    }
    for (int i = 0; i < 20; ++i) controller.tick();
    auto longest = controller.take_longest();
    line.decode_ms = longest.decode;
    line.engine_ms = longest.engine;
    line.heap_mib = heap_mib() - before;
    add(line);
    churn(controller, part, "ordinary pods beside them", share_pod_json);
    for (std::size_t i = 0; i < kPods; ++i) controller.remove_pod(scattered_uid(i));
    longest = controller.take_longest();
    add({.part = part,
         .what = "left when they have gone",
         .decode_ms = longest.decode,
         .engine_ms = longest.engine,
         .heap_mib = heap_mib() - before});
  }

  // Bodies of the extender's verbs with the largest number of nodes and victims.
  void bodies(const std::string& part) {
    Controller controller;
    add_nodes(controller);
    const double before = heap_mib();
    (void)controller.take_longest();
    for (int i = 0; i < 5; ++i) {
      controller.ask_extender_long_lists(plain_pod_json(fmt::format("asked-{}", i), 100, ""));
    }
    const auto longest = controller.take_longest();
    add({.part = part,
         .what = "100,000 nodes, 100,000 victims",
         .objects = 5,
         .decode_ms = longest.decode,
         .engine_ms = longest.engine,
         .heap_mib = heap_mib() - before});
    churn(controller, part, "ordinary pods afterwards");
  }

  // One preempt request about all nodes; any of the small pods there may be evicted.
  void preemption(const std::string& part) {
    constexpr int kPodsPerNode = 40;
    struct Asker {
      const char* what;
      int containers;
      int percent;
    };
    Controller controller;
    const double before = heap_mib();
    std::vector<core::PreemptRequest::OnNode> nodes;
    for (int n = 0; n < kNodes; ++n) {
      auto& on = nodes.emplace_back();
      on.node = fmt::format("node-{}", n);
      controller.upsert_node(share_node_json(on.node));
      for (int i = 0; i < kPodsPerNode; ++i) {
        on.candidates.push_back({.uid = fmt::format("small-{}-{}", n, i)});
        controller.upsert_pod(shares_pod_json(on.candidates.back().uid, 1, 1, on.node));
      }
    }
    for (const Asker& asker : {Asker{"for nine containers of 51 %", 9, 51},
                               {"for eight containers of 99 %", 8, 99},
                               {"for one container of 80 %", 1, 80}}) {
      (void)controller.take_longest();
      const std::string pod = shares_pod_json("asks", asker.containers, asker.percent, "");
      (void)controller.ask_preempt(pod, nodes);
      const auto longest = controller.take_longest();
      add({.part = part,
           .what = asker.what,
           .objects = static_cast<std::size_t>(kNodes) * kPodsPerNode,
           .decode_ms = longest.decode,
           .engine_ms = longest.engine,
           .heap_mib = heap_mib() - before});
    }
  }

  void aux_objects(const std::string& part, Size size) {
    constexpr std::size_t kEach = 50;
    Controller controller;
    add_nodes(controller);
    for (const AuxKind& kind : aux_kinds()) {
      const double before = heap_mib();
      Line line{.part = part, .what = kind.list.name, .objects = kEach};
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::string json = aux_object_json(kind, i, size);
        line.object_mib += static_cast<double>(json.size()) / kMib;
        controller.upsert_object(kind.kind, json);
      }
      const auto longest = controller.take_longest();
      line.decode_ms = longest.decode;
      line.engine_ms = longest.engine;
      line.heap_mib = heap_mib() - before;
      add(line);
    }
    churn(controller, part, "ordinary pods beside these");
  }

  void nodes(const std::string& part, Size size) {
    for (const Kind& kind : node_kinds()) {
      Controller controller;
      add_nodes(controller);
      const double before = heap_mib();
      Line line{.part = part, .what = fmt::format("Node {}", kind.name), .objects = 20};
      (void)controller.take_longest();
      for (int i = 0; i < 20; ++i) {
        const std::string json = node_json(&kind, fmt::format("node-{}", i), size);
        line.object_mib += static_cast<double>(json.size()) / kMib;
        controller.upsert_node(json);
      }
      const auto longest = controller.take_longest();
      line.decode_ms = longest.decode;
      line.engine_ms = longest.engine;
      line.heap_mib = heap_mib() - before;
      add(line);
      churn(controller, part, "ordinary pods beside these");
    }
  }

  std::vector<Line> lines_;
  bool good_ = true;
};

int run(const std::string& out, const std::string& which) {
  Bench bench;
  bench.run(which);
  base::JsonWriter json;
  json.begin_object();
  json.key("version").value(std::string(base::kVersion));
  json.key("lines").begin_array();
  for (const Line& line : bench.lines()) {
    json.begin_object();
    json.key("part").value(line.part);
    json.key("what").value(line.what);
    json.key("objects").value(static_cast<std::int64_t>(line.objects));
    json.key("object_mib").value(line.object_mib, 2);
    json.key("decode_ms").value(line.decode_ms, 2);
    json.key("engine_ms").value(line.engine_ms, 2);
    json.key("heap_mib").value(line.heap_mib, 2);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  if (!out.empty()) std::ofstream(out) << json.take() << "\n";
  std::printf(bench.good() ? "within %.0f ms and %.0f MiB\n" : "OVER %.0f ms or %.0f MiB\n",
              kEngineMs, kBeyondMib);
  return bench.good() ? 0 : 1;
}

}  // namespace
}  // namespace stowage::hostile

int main(int argc, char** argv) {
  std::string out;
  std::string which;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc || (flag != "--out" && flag != "--part")) {
      std::fprintf(stderr, "usage: stowage_hostile_bench [--out FILE] [--part NAME]\n");
      return 2;
    }
    (flag == "--out" ? out : which) = argv[i + 1];
  }
  return stowage::hostile::run(out, which);
}
