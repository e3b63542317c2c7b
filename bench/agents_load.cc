// Thousands of agents in one process, as a controller sees them, and the latency of their reports.
//
//   stowage_agents_load --controller https://127.0.0.1:10362 --ca ca.crt --nodes nodes.txt
//       --folder DIR --seconds 120
//
// One stream for each line of nodes.txt, each with eight cards whose load changes every second.
// `changes` pods every second get another card; the time counts from the change in the agent until
// a watch of the metrics API shows it. One line of JSON on stdout every ten seconds, the last one
// for the whole run. Tokens are "<account>@<node>", which `stowage local` accepts.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/uplink.h"
#include "base/file.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace stowage::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kCards = 8;
constexpr int kPods = 6;  // on each node
constexpr std::chrono::seconds kReportEvery{10};
constexpr const char* kAccount = "system:serviceaccount:kube-system:stowage-agent";
constexpr const char* kWatch = "/apis/metrics.nvidia.com/v1alpha1/podresources?watch=true";

struct Settings {
  std::string controller;
  std::string ca;
  std::string nodes;
  std::string folder;
  int seconds = 120;
  int changes = 200;  // pods every second
};

class Waits {
 public:
  void add(double ms) { values_.push_back(ms); }
  [[nodiscard]] std::string text() {
    std::sort(values_.begin(), values_.end());
    const auto at = [&](double part) {
      if (values_.empty()) return 0.0;
      return values_[static_cast<std::size_t>(part * static_cast<double>(values_.size() - 1))];
    };
    return fmt::format(R"("told":{},"p50_ms":{:.1f},"p99_ms":{:.1f},"max_ms":{:.1f})",
                       values_.size(), at(0.5), at(0.99), at(1));
  }

 private:
  std::vector<double> values_;
};

std::string card_id(const std::string& node, int index) {
  return fmt::format("GPU-{}-{}", node, index);
}

class Agents {
 public:
  Agents(net::EventLoop& loop, const Settings& settings, std::vector<std::string> nodes)
      : loop_(loop),
        settings_(settings),
        nodes_(std::move(nodes)),
        change_timer_(loop),
        report_timer_(loop) {}

  Status start() {
    STOWAGE_TRY(url, net::parse_url(settings_.controller));
    for (std::size_t i = 0; i < nodes_.size(); ++i) add(url, i);
    return watch(url);
  }

 private:
  struct One {
    std::unique_ptr<agent::Uplink> uplink;
    std::unique_ptr<net::Timer> timer;
    std::vector<codec::ReportedLoad> load;
    std::vector<int> serial;  // of the pod in each position
  };

  void add(const net::Url& url, std::size_t number) {
    const std::string& node = nodes_[number];
    const std::string token = fmt::format("{}/{}.token", settings_.folder, node);
    std::ofstream(token) << kAccount << '@' << node;
    One one;
    one.uplink = std::make_unique<agent::Uplink>(
        loop_,
        agent::UplinkOptions{.controller = url,
                             .report = {.node = node, .agent = "load"},
                             .token_file = token,
                             .ca_file = settings_.ca,
                             .seed = number + 1},
        log_);
    std::vector<codec::ReportedCard> cards;
    for (int i = 0; i < kCards; ++i) {
      cards.push_back({.id = card_id(node, i),
                       .index = i,
                       .model = "NVIDIA H200",
                       .brand = "NVIDIA",
                       .bus_id = fmt::format("00000000:{:02X}:00.0", i),
                       .memory_mib = 143771});
      one.load.push_back({.card = i,
                          .busy_permille = dice(1000),
                          .memory_mib = dice(140000),
                          .power_milliwatt = 300000,
                          .celsius = 50});
    }
    std::vector<codec::ReportedPod> pods;
    for (int place = 0; place < kPods; ++place) {
      one.serial.push_back(0);
      pods.push_back(pod(node, place, 0));
    }
    one.uplink->set_alive(true);
    one.uplink->set_cards(std::move(cards));
    one.uplink->set_load(one.load);
    one.uplink->set_pods(std::move(pods));
    one.uplink->start();
    one.timer = std::make_unique<net::Timer>(loop_);
    agents_.push_back(std::move(one));
    agents_.back().timer->start(std::chrono::milliseconds(dice(1000)),
                                [this, number] { wander(number); });
  }

  int dice(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  static codec::ReportedPod pod(const std::string& node, int place, int serial) {
    return {.ns = "load",
            .name = fmt::format("{}-{}-{}", node, place, serial),
            .containers = {
                {.name = "main",
                 .devices = {{"nvidia.com/gpu", {card_id(node, (place + serial) % kCards)}}}}}};
  }

  // The load of every card of a node, every second.
  void wander(std::size_t number) {
    One& one = agents_[number];
    one.timer->start(std::chrono::seconds{1}, [this, number] { wander(number); });
    for (codec::ReportedLoad& load : one.load) {
      load.busy_permille = std::clamp(*load.busy_permille + dice(101) - 50, 0, 1000);
      load.memory_mib = std::clamp(*load.memory_mib + dice(401) - 200, 0, 143000);
    }
    one.uplink->set_load(one.load);
  }

  // One pod of some node ends and another one replaces it.
  void change() {
    const auto number = static_cast<std::size_t>(dice(static_cast<int>(nodes_.size())));
    One& one = agents_[number];
    if (!one.uplink->snapshot().open) return;
    const int place = dice(kPods);
    int& serial = one.serial[static_cast<std::size_t>(place)];
    const std::string old = "load/" + pod(nodes_[number], place, serial).name;
    codec::ReportedPod fresh = pod(nodes_[number], place, ++serial);
    asked_[fresh.name] = Clock::now();
    one.uplink->change_pods({std::move(fresh)}, {old});
  }

  void tick() {
    const auto now = Clock::now();
    const std::chrono::duration<double> passed = now - began_;
    while (static_cast<double>(made_) < passed.count() * settings_.changes) {
      ++made_;
      change();
    }
    change_timer_.start(std::chrono::milliseconds{5}, [this] { tick(); });
  }

  Status watch(const net::Url& url) {
    STOWAGE_TRY(ca, base::read_file(settings_.ca));
    STOWAGE_TRY(tls, net::make_client_tls({.ca_pem = ca, .server_name = url.host}));
    client_ = std::make_unique<net::HttpClient>(
        loop_, net::HttpClientOptions{.server = url, .tls = std::move(tls)});
    report_timer_.start(std::chrono::milliseconds{200}, [this] { wait_for_all(); });
    return {};
  }

  // The clock starts when all agents are connected.
  void wait_for_all() {
    const auto open =
        static_cast<std::size_t>(std::count_if(agents_.begin(), agents_.end(), [](const One& one) {
          return one.uplink->snapshot().open;
        }));
    if (Clock::now() - told_ > std::chrono::seconds{2}) {
      told_ = Clock::now();
      std::cerr << fmt::format("  agents connected: {} of {}\n", open, agents_.size());
    }
    if (open < agents_.size()) {
      report_timer_.start(std::chrono::milliseconds{200}, [this] { wait_for_all(); });
      return;
    }
    std::cout << fmt::format(R"({{"of":"connected","seconds":{:.1f}}})",
                             std::chrono::duration<double>(Clock::now() - born_).count())
              << std::endl;
    began_ = last_ = Clock::now();
    stream_ =
        client_->open({.target = kWatch, .headers = {{"Authorization", "Bearer watcher"}}}, {},
                      {.head =
                           [](const net::HttpResponse& head) {
                             if (head.status == 200) return;
                             std::cerr << "the watch is refused: " << head.body << '\n';
                             std::exit(1);
                           },
                       .data = [this](std::string_view bytes) { take(bytes); },
                       .end =
                           [](const auto&) {
                             std::cerr << "the watch has ended\n";
                             std::exit(1);
                           }});
    tick();
    report();
  }

  void take(std::string_view bytes) {
    text_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos;
         end = text_.find('\n', begin)) {
      take_line(std::string_view(text_).substr(begin, end - begin));
      begin = end + 1;
    }
    text_.erase(0, begin);
  }

  void take_line(std::string_view line) {
    constexpr std::string_view kName = R"("pod_name":")";
    const std::size_t at = line.find(kName);
    if (at == std::string_view::npos || line.find(R"("SYNCED")") == std::string_view::npos) return;
    const std::string_view rest = line.substr(at + kName.size());
    const auto asked = asked_.find(std::string(rest.substr(0, rest.find('"'))));
    if (asked == asked_.end()) return;
    const double ms = Milliseconds(Clock::now() - asked->second).count();
    asked_.erase(asked);
    now_.add(ms);
    all_.add(ms);
  }

  void report() {
    report_timer_.start(std::chrono::milliseconds{100}, [this] { report(); });
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const bool over = seconds >= settings_.seconds;
    if (now - last_ >= kReportEvery || over) {
      last_ = now;
      print("now", seconds, now_);
      now_ = {};
    }
    if (!over) return;
    print("all", seconds, all_);
    std::exit(0);
  }

  void print(const char* of, double seconds, Waits& waits) {
    std::uint64_t reports = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failed = 0;
    for (const One& one : agents_) {
      const agent::Uplink::Snapshot snapshot = one.uplink->snapshot();
      reports += snapshot.reports;
      bytes += snapshot.bytes;
      failed += snapshot.failed;
    }
    std::cout << fmt::format(
                     R"({{"of":"{}","seconds":{:.1f},{},"waiting":{},"reports":{},"bytes":{},)"
                     R"("failed":{}}})",
                     of, seconds, waits.text(), asked_.size(), reports, bytes, failed)
              << std::endl;
  }

  net::EventLoop& loop_;
  const Settings settings_;
  const std::vector<std::string> nodes_;
  base::Log log_{{.level = base::LogLevel::error}};
  std::mt19937 random_{1};
  std::vector<One> agents_;
  std::unique_ptr<net::HttpClient> client_;
  std::unique_ptr<net::HttpClient::Stream> stream_;
  std::unordered_map<std::string, Clock::time_point> asked_;  // by pod
  std::string text_;
  Waits now_;
  Waits all_;
  std::int64_t made_ = 0;
  Clock::time_point born_ = Clock::now();
  Clock::time_point began_ = born_;
  Clock::time_point last_ = born_;
  Clock::time_point told_ = born_;
  net::Timer change_timer_;
  net::Timer report_timer_;
};

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Thousands of agents, as a controller sees them"};
  app.add_option("--controller", settings.controller)->required();
  app.add_option("--ca", settings.ca)->required();
  app.add_option("--nodes", settings.nodes, "file with a name on each line")->required();
  app.add_option("--folder", settings.folder, "for tokens")->required();
  app.add_option("--seconds", settings.seconds);
  app.add_option("--changes", settings.changes, "pods every second");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> nodes;
  std::ifstream in(settings.nodes);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) nodes.push_back(line);
  }
  net::EventLoop loop;
  Agents agents(loop, settings, std::move(nodes));
  if (auto started = agents.start(); !started) {
    std::cerr << started.error().message << '\n';
    return 1;
  }
  loop.run();
  return 0;
}

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) { return stowage::bench::run(argc, argv); }
