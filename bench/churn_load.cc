// Pods that come and go at a fixed rate in a full cluster, and how long each waits for its node.
//
//   stowage_churn_load KUBECONFIG --live 100000 --rate 500 --seconds 1800
//
// First fills the cluster, then creates `rate` pods per second and deletes as many, the oldest
// first. A wait counts from the reply to the creation until a watch shows that the pod has a node.
// One line of JSON on stdout every ten seconds, the last one for the whole run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
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
constexpr int kFillAhead = 2'000;
constexpr std::chrono::seconds kReportEvery{10};
constexpr std::string_view kPrefix = "churn-";

struct Settings {
  std::string kubeconfig;
  int live = 100'000;
  double rate = 500;
  int seconds = 1800;
  int clients = 64;
  std::string scheduler = "stowage";
};

// Shares, whole cards and pairs: two thirds of a card on average.
std::string asks_of(int number) {
  const char* half =
      R"("cpu":"2","memory":"8Gi","stowage.dev/gpu-core":"50","stowage.dev/gpu-memory":"20480")";
  const char* quarter =
      R"("cpu":"1","memory":"4Gi","stowage.dev/gpu-core":"25","stowage.dev/gpu-memory":"8192")";
  switch (number % 10) {
    case 0:
    case 3:
    case 5:
    case 8: return half;
    case 1:
    case 4:
    case 7: return quarter;
    case 2:
    case 6: return R"("cpu":"4","memory":"16Gi","nvidia.com/gpu":"1")";
    default: return R"("cpu":"8","memory":"32Gi","nvidia.com/gpu":"2")";
  }
}

std::string name_of(int number) { return fmt::format("{}{}", kPrefix, number); }

std::string churn_pod(int number, const std::string& scheduler) {
  const std::string asks = asks_of(number);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","labels":{{"app":"churn"}}}},)"
      R"("spec":{{"schedulerName":"{1}","containers":[{{"name":"main","image":"none",)"
      R"("resources":{{"requests":{{{2}}},"limits":{{{2}}}}}}}]}}}})",
      name_of(number), scheduler, asks);
}

class Churn {
 public:
  Churn(Api& api, const Settings& settings)
      : api_(api),
        settings_(settings),
        watch_(api, "&fieldSelector=spec.nodeName!%3D", kJson,
               [this](std::string_view name) { seen(name); }),
        timer_(api.loop()),
        report_timer_(api.loop()) {}

  void run() {
    watch_.start([this] { fill(); });
    const Progress progress(api_.loop(), "pods bound, first", bound_, settings_.live);
    api_.loop().run();
    report_timer_.cancel();
    say(all_, "all");
  }

 private:
  struct Waiting {
    Clock::time_point created{};
    Clock::time_point bound{};
  };

  // No faster than pods are bound: this does not measure a flood of waiting pods.
  void fill() {
    while (next_ < settings_.live && under_way_ < settings_.clients &&
           next_ - bound_ < kFillAhead) {
      create([this] { fill(); });
    }
    if (bound_ < settings_.live || filled_) return;
    start_ = Clock::now();
    first_ = next_;
    filled_ = true;
    report_timer_.start(kReportEvery, [this] { report(); });
    tick();
  }

  void tick() {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (elapsed >= settings_.seconds) {
      // Pods that still wait get some time, then the results are printed.
      if (waiting_.empty() || elapsed >= settings_.seconds + 30) return api_.loop().stop();
    } else {
      const int due = first_ + static_cast<int>(elapsed * settings_.rate) + 1;
      while (next_ < due) {
        create([] {});
        remove(oldest_++);
      }
    }
    timer_.start(kTick, [this] { tick(); });
  }

  void create(std::function<void()> then) {
    const int number = next_++;
    ++under_way_;
    waiting_.emplace(number, Waiting{});
    api_.post(kPodsPath, churn_pod(number, settings_.scheduler), kJson,
              [this, number, then = std::move(then)] {
                --under_way_;
                created(number);
                then();
              });
  }

  void remove(int number) {
    api_.call({.method = "DELETE", .target = fmt::format("{}/{}", kPodsPath, name_of(number))},
              [](const kube::ApiReply&) {});
  }

  void created(int number) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    found->second.created = Clock::now();
    if (found->second.bound != Clock::time_point{}) settle(number);
  }

  void seen(std::string_view name) {
    if (!name.starts_with(kPrefix)) return;
    const int number = std::atoi(std::string(name.substr(kPrefix.size())).c_str());
    const auto found = waiting_.find(number);
    if (found == waiting_.end() || found->second.bound != Clock::time_point{}) return;
    found->second.bound = Clock::now();
    if (found->second.created != Clock::time_point{}) settle(number);
  }

  void settle(int number) {
    const Waiting each = waiting_.at(number);
    waiting_.erase(number);
    ++bound_;
    if (!filled_) {
      api_.loop().post([this] { fill(); });
      return;
    }
    const double wait =
        std::chrono::duration<double, std::milli>(each.bound - each.created).count();
    lately_.push_back(std::max(0.0, wait));
    all_.push_back(std::max(0.0, wait));
  }

  void report() {
    say(lately_, "lately");
    lately_.clear();
    report_timer_.start(kReportEvery, [this] { report(); });
  }

  void say(std::vector<double> waits, const char* what) const {
    std::sort(waits.begin(), waits.end());
    const auto at = [&](double share) {
      return waits.empty()
                 ? 0.0
                 : waits[static_cast<std::size_t>(share * static_cast<double>(waits.size() - 1))];
    };
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    fmt::print(
        "{{\"of\":\"{}\",\"seconds\":{:.1f},\"bound\":{},\"waiting\":{},\"p50_ms\":{:.2f},"
        "\"p99_ms\":{:.2f},\"p999_ms\":{:.2f},\"max_ms\":{:.2f}}}\n",
        what, elapsed, waits.size(), waiting_.size(), at(0.5), at(0.99), at(0.999), at(1));
    std::fflush(stdout);
  }

  Api& api_;
  const Settings& settings_;
  PodWatch watch_;
  net::Timer timer_;
  net::Timer report_timer_;
  std::unordered_map<int, Waiting> waiting_;  // created, or about to be, and not seen bound
  std::vector<double> lately_;                // waits in milliseconds
  std::vector<double> all_;
  Clock::time_point start_;
  int next_ = 0;
  int first_ = 0;
  int oldest_ = 0;
  int bound_ = 0;
  int under_way_ = 0;
  bool filled_ = false;
};

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) {
  using namespace stowage::bench;  // NOLINT
  Settings settings;
  CLI::App app("Pods that come and go at a fixed rate.");
  app.add_option("kubeconfig", settings.kubeconfig)->required();
  app.add_option("--live", settings.live)->check(CLI::PositiveNumber);
  app.add_option("--rate", settings.rate)->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds)->check(CLI::PositiveNumber);
  app.add_option("--clients", settings.clients)->check(CLI::PositiveNumber);
  app.add_option("--scheduler", settings.scheduler);
  CLI11_PARSE(app, argc, argv);
  Api api(settings.kubeconfig, settings.clients);
  Churn(api, settings).run();
  return 0;
}
