// Acts as many kube-schedulers at once: for each of many pods filter, prioritize and bind, over
// real sockets, and measures each. The pods exist already (`--pods` of them, named load-<n> in the
// namespace default, with the uids of the file), and so does the extender.
//
//   stowage_extender_load EXTENDER_URL --uids FILE --nodes N [--clients C] [--full BYTES]
//   [--no-bind]
//
// An answer that is a decision (does not fit, taken by another) is retried; anything else counts as
// an error. Figures go to stdout as JSON.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "net/event_loop.h"
#include "net/http_client.h"

namespace stowage::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kDeadline{60};
constexpr int kTriesMax = 50;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "stowage_extender_load: {}\n", why);
  std::exit(1);
}

struct Settings {
  std::string url;
  std::string uids;
  int nodes = 1000;
  int clients = 200;
  int full_bytes = 0;  // of each node; 0: names mode
  int repeat = 1;      // rounds of each pod, for runs without bind
  int percent = 25;    // of a card, that each pod asks for
  bool no_bind = false;
};

std::string node_name(int number, int nodes) {
  const std::size_t digits = fmt::formatted_size("{}", nodes);
  return fmt::format("node-{:0{}}", number + 1, digits);
}

std::string pod_json(int number, const std::string& uid, int percent) {
  const std::string amounts = fmt::format(R"({{"stowage.dev/gpu-core":"{}"}})", percent);
  return fmt::format(
      R"({{"metadata":{{"name":"load-{}","namespace":"default","uid":"{}"}},)"
      R"("spec":{{"schedulerName":"elsewhere","containers":[{{"name":"main","image":"x",)"
      R"("resources":{{"limits":{},"requests":{}}}}}]}},"status":{{"phase":"Pending"}}}})",
      number, uid, amounts, amounts);
}

// The nodes of a request: names, or objects as large as real ones.
std::string nodes_json(const Settings& settings) {
  std::string names;
  std::string items;
  for (int n = 0; n < settings.nodes; ++n) {
    const std::string name = node_name(n, settings.nodes);
    names += fmt::format("{}\"{}\"", n == 0 ? "" : ",", name);
    if (settings.full_bytes == 0) continue;
    std::string images;
    for (int i = 0; static_cast<int>(images.size()) < settings.full_bytes; ++i) {
      images += fmt::format(R"({}{{"names":["library/image-{}@sha256:{:064x}"],"sizeBytes":{}}})",
                            i == 0 ? "" : ",", i, i * 7919, 1000000 + i);
    }
    items += fmt::format(R"({}{{"metadata":{{"name":"{}","labels":{{"zone":"a"}}}},"spec":{{}},)"
                         R"("status":{{"images":[{}]}}}})",
                         n == 0 ? "" : ",", name, images);
  }
  if (settings.full_bytes == 0) return R"("Nodes":null,"NodeNames":[)" + names + "]}";
  return R"("NodeNames":null,"Nodes":{"metadata":{},"items":[)" + items + "]}}";
}

std::string text_of(std::string_view json, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\":\"", key);
  const auto at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  const auto begin = at + quoted.size();
  return std::string(json.substr(begin, json.find('"', begin) - begin));
}

// The host with the highest score.
std::string best_host(std::string_view json) {
  std::string best;
  int most = -1;
  std::size_t at = 0;
  while ((at = json.find("\"Host\":\"", at)) != std::string_view::npos) {
    const auto begin = at + 8;
    const auto end = json.find('"', begin);
    const auto score_at = json.find("\"Score\":", end) + 8;
    const int score = std::atoi(json.data() + score_at);
    if (score > most) {
      most = score;
      best = std::string(json.substr(begin, end - begin));
    }
    at = score_at;
  }
  return best;
}

class Load {
 public:
  Load(Settings settings, std::vector<std::string> uids)
      : settings_(std::move(settings)), uids_(std::move(uids)), nodes_(nodes_json(settings_)) {
    auto url = net::parse_url(settings_.url);
    if (!url) give_up(url.error().message);
    net::HttpClientOptions options;
    options.server = *url;
    options.connections_max = static_cast<std::size_t>(settings_.clients);
    client_ = std::make_unique<net::HttpClient>(loop_, options);
    total_ = static_cast<int>(uids_.size()) * settings_.repeat;
  }

  void run() {
    const auto start = Clock::now();
    for (int i = 0; i < settings_.clients; ++i) next();
    loop_.run();
    report(std::chrono::duration<double>(Clock::now() - start).count());
  }

 private:
  void call(const char* verb, std::string body, std::function<void(std::string)> then) {
    const auto start = Clock::now();
    client_->send({.method = "POST",
                   .target = fmt::format("/stowage/{}", verb),
                   .headers = {{"Content-Type", "application/json"}},
                   .body = std::move(body)},
                  kDeadline, [this, verb, start, then = std::move(then)](auto reply) {
                    times_[verb].push_back(
                        std::chrono::duration<double, std::micro>(Clock::now() - start).count());
                    if (!reply) give_up(reply.error().message);
                    if (reply->status != 200) {
                      give_up(fmt::format("{} answered {}: {}", verb, reply->status,
                                          reply->body.substr(0, 300)));
                    }
                    then(std::move(reply->body));
                  });
  }

  void next() {
    if (started_ == total_) return;
    const int pod = started_++ % static_cast<int>(uids_.size());
    filter(pod, 0);
  }

  void done() {
    if (++finished_ == total_) return loop_.stop();
    next();
  }

  void again(int pod, int tries, const std::string& why) {
    ++retries_;
    if (tries + 1 >= kTriesMax) {
      ++unplaced_;
      last_reason_ = why;
      return done();
    }
    filter(pod, tries + 1);
  }

  std::string body_of(int pod) const {
    return fmt::format(R"({{"Pod":{},{})",
                       pod_json(pod, uids_[static_cast<std::size_t>(pod)], settings_.percent),
                       nodes_);
  }

  void filter(int pod, int tries) {
    call("filter", body_of(pod), [this, pod, tries](const std::string& answer) {
      const std::string error = text_of(answer, "Error");
      if (!error.empty()) return again(pod, tries, error);
      const bool none = answer.find("\"NodeNames\":[]") != std::string::npos ||
                        answer.find("\"items\":[]") != std::string::npos;
      if (none) return again(pod, tries, "no node fits");
      call("prioritize", body_of(pod), [this, pod, tries](const std::string& scores) {
        if (settings_.no_bind) return done();
        bind(pod, best_host(scores), tries);
      });
    });
  }

  void bind(int pod, const std::string& host, int tries) {
    call(
        "bind",
        fmt::format(R"({{"PodName":"load-{}","PodNamespace":"default","PodUID":"{}","Node":"{}"}})",
                    pod, uids_[static_cast<std::size_t>(pod)], host),
        [this, pod, tries](const std::string& answer) {
          const std::string error = text_of(answer, "Error");
          if (error.empty()) return done();
          ++bind_refusals_;
          again(pod, tries, error);
        });
  }

  void report(double seconds) {
    fmt::print(
        "{{\"rounds\":{},\"seconds\":{:.3f},\"retries\":{},\"bind_refusals\":{},"
        "\"unplaced\":{},\"last_reason\":\"{}\"",
        total_, seconds, retries_, bind_refusals_, unplaced_, last_reason_);
    for (auto& [verb, times] : times_) {
      std::sort(times.begin(), times.end());
      const auto at = [&times = times](double share) {
        return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
      };
      fmt::print(",\"{}\":{{\"calls\":{},\"p50_us\":{:.0f},\"p99_us\":{:.0f},\"max_us\":{:.0f}}}",
                 verb, times.size(), at(0.5), at(0.99), times.back());
    }
    fmt::print("}}\n");
  }

  Settings settings_;
  std::vector<std::string> uids_;
  std::string nodes_;
  net::EventLoop loop_;
  std::unique_ptr<net::HttpClient> client_;
  std::map<std::string, std::vector<double>> times_;
  int total_ = 0;
  int started_ = 0;
  int finished_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t bind_refusals_ = 0;
  std::uint64_t unplaced_ = 0;
  std::string last_reason_;
};

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) {
  using namespace stowage::bench;  // NOLINT
  Settings settings;
  CLI::App app("Plays many kube-schedulers at once against an extender.");
  app.add_option("url", settings.url)->required();
  app.add_option("--uids", settings.uids, "file with one uid per line")->required();
  app.add_option("--nodes", settings.nodes);
  app.add_option("--clients", settings.clients);
  app.add_option("--full", settings.full_bytes);
  app.add_option("--repeat", settings.repeat);
  app.add_option("--percent", settings.percent);
  app.add_flag("--no-bind", settings.no_bind);
  CLI11_PARSE(app, argc, argv);
  std::ifstream in(settings.uids);
  std::vector<std::string> uids;
  for (std::string line; std::getline(in, line);) uids.push_back(line);
  if (uids.empty()) give_up("no uids in " + settings.uids);
  Load(settings, std::move(uids)).run();
  return 0;
}
