// Load for a real API server: creates nodes and pods, binds pods without any scheduler, and records
// when others bind pods. Cheap on purpose, because it shares the machine with what it measures: one
// thread, HTTP/1.1, and only needed data is decoded.
//
//   stowage_kube_load KUBECONFIG nodes   --count N
//   stowage_kube_load KUBECONFIG pods    --count N --prefix P --scheduler S
//   stowage_kube_load KUBECONFIG bind    --count N --prefix P --nodes M [--events] [--watch json]
//   stowage_kube_load KUBECONFIG observe --count N --prefix P
//   stowage_kube_load KUBECONFIG flow    --count N --prefix P --scheduler S --rate R
//
// `observe` prints "ready" on stdout once its watch is open and ends when all pods are bound;
// `flow` creates pods at a fixed rate meanwhile. Figures go to stdout as one line of JSON, times in
// seconds of the monotonic clock; progress goes to stderr.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/kube_objects.h"
#include "bench/load_api.h"

namespace stowage::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{2};
constexpr const char* kBoundOnly = "&fieldSelector=spec.nodeName!%3D";
constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

double seconds_of(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

struct Settings {
  std::string kubeconfig;
  int count = 1000;
  int nodes = 1000;
  int clients = 32;
  double rate = 100;
  int stuck_seconds = 60;  // without a bind: give up
  std::string prefix = "load";
  std::string scheduler = "default-scheduler";
  std::string watch = "none";
  bool events = false;
  bool protobuf = false;
};

// Runs `count` pieces of work, `clients` of them at a time; returns the seconds.
double run_all(Api& api, const std::string& what, const Settings& settings,
               const std::function<void(int, std::function<void()>)>& work) {
  int started = 0;
  int finished = 0;
  const Progress progress(api.loop(), what, finished, settings.count);
  std::function<void()> next = [&] {
    if (started == settings.count) return;
    work(started++, [&] {
      if (++finished == settings.count) return api.loop().stop();
      next();
    });
  };
  const auto start = Clock::now();
  for (int i = 0; i < settings.clients; ++i) next();
  if (settings.count > 0) api.loop().run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Records when each pod of the prefix is first seen with a node: the server sends only bound pods.
class Observer {
 public:
  Observer(Api& api, const Settings& settings)
      : api_(api),
        settings_(settings),
        bound_(static_cast<std::size_t>(settings.count)),
        head_(settings.prefix + "-"),
        watch_(api, kBoundOnly, settings.watch == "protobuf" ? kProtobuf : kJson,
               [this](std::string_view name) { take(name); }),
        watchdog_(api.loop()) {}

  void start(std::function<void()> ready) { watch_.start(std::move(ready)); }
  // Gives up when nothing is bound for too long.
  void expect() {
    watchdog_.start(std::chrono::seconds{settings_.stuck_seconds}, [this] {
      give_up(fmt::format("{} of {} pods are bound, and no more within {} s", seen_,
                          settings_.count, settings_.stuck_seconds));
    });
  }

  [[nodiscard]] const int& seen() const { return seen_; }
  [[nodiscard]] const std::vector<Clock::time_point>& bound() const { return bound_; }
  [[nodiscard]] int reopened() const { return watch_.reopened(); }

 private:
  void take(std::string_view name) {
    if (!name.starts_with(head_)) return;
    const int number = std::atoi(std::string(name.substr(head_.size())).c_str());
    if (number < 0 || number >= settings_.count) return;
    Clock::time_point& when = bound_[static_cast<std::size_t>(number)];
    if (when != Clock::time_point{}) return;
    when = Clock::now();
    expect();
    if (++seen_ == settings_.count) api_.loop().stop();
  }

  Api& api_;
  const Settings& settings_;
  std::vector<Clock::time_point> bound_;
  std::string head_;
  PodWatch watch_;
  net::Timer watchdog_;
  int seen_ = 0;
};

void report_created(const Settings& settings, double seconds) {
  fmt::print("{{\"count\":{},\"seconds\":{:.3f},\"per_second\":{:.1f}}}\n", settings.count, seconds,
             settings.count / seconds);
}

void create_nodes(Api& api, const Settings& settings) {
  report_created(settings, run_all(api, "nodes created", settings, [&](int number, auto then) {
                   api.post("/api/v1/nodes", node_json(number), kJson, std::move(then));
                 }));
}

void create_pods(Api& api, const Settings& settings) {
  report_created(settings, run_all(api, "pods created", settings, [&](int number, auto then) {
                   api.post(kPodsPath, pod_json(settings.prefix, number, settings.scheduler), kJson,
                            std::move(then));
                 }));
}

void bind_pods(Api& api, const Settings& settings) {
  std::unique_ptr<PodWatch> watch;
  if (settings.watch != "none") {
    const bool light = settings.watch == "metadata";
    watch = std::make_unique<PodWatch>(
        api, light ? kBoundOnly : "",
        light ? kMetadataOnly : (settings.watch == "protobuf" ? kProtobuf : kJson), nullptr);
    watch->start([&] { api.loop().stop(); });
    api.loop().run();
  }
  const char* type = settings.protobuf ? kProtobuf : kJson;
  const double seconds = run_all(api, "pods bound", settings, [&](int number, auto then) {
    const std::string pod = pod_name(settings.prefix, number);
    const std::string node = node_name(number % settings.nodes);
    std::string body = settings.protobuf ? binding_protobuf(pod, node) : binding_json(pod, node);
    api.post(fmt::format("{}/{}/binding", kPodsPath, pod), std::move(body), type,
             [&, pod, node, then = std::move(then)]() mutable {
               if (!settings.events) return then();
               api.post(kEventsPath, event_json(pod, node), kJson, std::move(then));
             });
  });
  fmt::print(
      "{{\"count\":{},\"clients\":{},\"seconds\":{:.3f},\"per_second\":{:.1f},"
      "\"watch_bytes\":{}}}\n",
      settings.count, settings.clients, seconds, settings.count / seconds,
      watch ? watch->bytes() : 0);
}

void observe(Api& api, const Settings& settings) {
  Observer observer(api, settings);
  observer.start([] {
    fmt::print("ready\n");
    std::fflush(stdout);
  });
  const Progress progress(api.loop(), "pods bound", observer.seen(), settings.count);
  observer.expect();
  api.loop().run();
  std::vector<Clock::time_point> times = observer.bound();
  std::sort(times.begin(), times.end());
  const double first = seconds_of(times.front());
  const double last = seconds_of(times.back());
  fmt::print(
      "{{\"count\":{},\"first\":{:.6f},\"last\":{:.6f},\"per_second\":{:.1f},"
      "\"watch_reopened\":{}}}\n",
      settings.count, first, last, (settings.count - 1) / std::max(last - first, 1e-6),
      observer.reopened());
}

// Creates pods when they are due, whether or not earlier ones are bound.
class Flow {
 public:
  Flow(Api& api, const Settings& settings)
      : api_(api),
        settings_(settings),
        observer_(api, settings),
        created_(static_cast<std::size_t>(settings.count)),
        timer_(api.loop()) {}

  void run() {
    observer_.start([this] {
      start_ = Clock::now();
      tick();
    });
    const Progress progress(api_.loop(), "pods bound", observer_.seen(), settings_.count);
    observer_.expect();
    api_.loop().run();
    report();
  }

 private:
  void tick() {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const int due = std::min(settings_.count, static_cast<int>(elapsed * settings_.rate) + 1);
    while (asked_ < due) create(asked_++);
    if (asked_ < settings_.count) timer_.start(kTick, [this] { tick(); });
  }

  void create(int number) {
    api_.post(kPodsPath, pod_json(settings_.prefix, number, settings_.scheduler), kJson,
              [this, number] { created_[static_cast<std::size_t>(number)] = Clock::now(); });
  }

  void report() const {
    std::vector<double> waits;
    for (std::size_t i = 0; i < created_.size(); ++i) {
      // A pod may be seen bound before the reply to its creation is read.
      const auto created = created_[i] == Clock::time_point{} ? observer_.bound()[i] : created_[i];
      waits.push_back(std::max(
          0.0, std::chrono::duration<double, std::milli>(observer_.bound()[i] - created).count()));
    }
    std::sort(waits.begin(), waits.end());
    const auto at = [&](double share) {
      return waits[static_cast<std::size_t>(share * static_cast<double>(waits.size() - 1))];
    };
    const auto last = *std::max_element(created_.begin(), created_.end());
    fmt::print(
        "{{\"count\":{},\"rate\":{:.1f},\"p50_ms\":{:.2f},\"p90_ms\":{:.2f},"
        "\"p99_ms\":{:.2f},\"max_ms\":{:.2f},\"watch_reopened\":{}}}\n",
        settings_.count, settings_.count / std::chrono::duration<double>(last - start_).count(),
        at(0.5), at(0.9), at(0.99), waits.back(), observer_.reopened());
  }

  Api& api_;
  const Settings& settings_;
  Observer observer_;
  std::vector<Clock::time_point> created_;
  net::Timer timer_;
  Clock::time_point start_;
  int asked_ = 0;
};

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) {
  using namespace stowage::bench;  // NOLINT
  Settings settings;
  std::string command;
  CLI::App app("Load for a Kubernetes API server.");
  app.add_option("kubeconfig", settings.kubeconfig)->required();
  app.add_option("command", command)
      ->required()
      ->check(CLI::IsMember({"nodes", "pods", "bind", "observe", "flow"}));
  app.add_option("--count", settings.count)->check(CLI::PositiveNumber);
  app.add_option("--nodes", settings.nodes)->check(CLI::PositiveNumber);
  app.add_option("--clients", settings.clients)->check(CLI::PositiveNumber);
  app.add_option("--rate", settings.rate)->check(CLI::PositiveNumber);
  app.add_option("--stuck", settings.stuck_seconds)->check(CLI::PositiveNumber);
  app.add_option("--prefix", settings.prefix);
  app.add_option("--scheduler", settings.scheduler);
  app.add_option("--watch", settings.watch)
      ->check(CLI::IsMember({"none", "json", "protobuf", "metadata"}));
  app.add_flag("--events", settings.events);
  app.add_flag("--protobuf", settings.protobuf);
  CLI11_PARSE(app, argc, argv);
  Api api(settings.kubeconfig, settings.clients);
  if (command == "nodes") create_nodes(api, settings);
  if (command == "pods") create_pods(api, settings);
  if (command == "bind") bind_pods(api, settings);
  if (command == "observe") observe(api, settings);
  if (command == "flow") Flow(api, settings).run();
  return 0;
}
