#include "tests/decisions/traces.h"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "sim/churn.h"
#include "sim/generator.h"

namespace stowage::decisions {
namespace {

constexpr double kFillTo = 1.3;
constexpr std::uint64_t kSeed = 42;
constexpr double kLoad = 1.1;
constexpr double kLifetimes = 2;
constexpr double kNsPerLifetime = 3600e9;
constexpr std::uint64_t kBindsPerFailure = 50;
constexpr std::uint64_t kEventsPerTick = 200;

// An engine, its events, and the replies to its commands.
class Cluster {
 public:
  enum class Refused { leave, wait };

  Cluster(core::PolicyOptions options, Refused refused, Log& log)
      : engine_(std::move(options)), refused_(refused), log_(log) {}

  void add_nodes(const std::vector<sim::TraceNode>& nodes) {
    base::Rng rng(kSeed);
    const auto ranks = sim::permutation(nodes.size(), rng);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      send("node", nodes[i].name, core::NodeChanged{sim::to_node_spec(nodes[i], ranks[i])}, {});
    }
  }
  // Returns the uids of pods that were bound as a result.
  std::vector<std::string> send(std::string_view what, std::string_view subject, core::Event event,
                                base::Instant now) {
    std::vector<std::string> bound;
    std::vector<core::Event> events{std::move(event)};
    for (std::size_t i = 0; i < events.size(); ++i) {
      log_.step(i == 0 ? what : "reply", subject, now);
      const core::Event current = std::move(events[i]);
      const core::Commands commands = engine_.handle(current, now);
      log_.commands(commands);
      for (const core::Command& command : commands) reply(command, bound, events);
    }
    return bound;
  }
  [[nodiscard]] std::vector<std::string> audit() { return engine_.audit(); }

 private:
  void reply(const core::Command& command, std::vector<std::string>& bound,
             std::vector<core::Event>& events) {
    if (const auto* bind = std::get_if<core::Bind>(&command)) {
      if (refused_ == Refused::wait && ++binds_ % kBindsPerFailure == 0) {
        events.emplace_back(core::BindFailed{bind->uid});
      } else {
        events.emplace_back(core::BindDone{bind->uid});
        bound.push_back(bind->uid);
      }
    } else if (const auto* refuse = std::get_if<core::Refuse>(&command)) {
      if (refused_ == Refused::leave) events.emplace_back(core::PodGone{refuse->uid});
    } else if (const auto* evict = std::get_if<core::Evict>(&command)) {
      events.emplace_back(core::PodGone{evict->uid});
    }
  }

  core::Engine engine_;
  Refused refused_;
  Log& log_;
  std::uint64_t binds_ = 0;
};

base::Instant instant_at(double time) {
  return base::Instant{static_cast<std::int64_t>(time * kNsPerLifetime)};
}

using Departure = std::pair<double, std::uint32_t>;

// Running pods, by the time of their end.
class Churn {
 public:
  Churn(const sim::Trace& trace, const std::vector<sim::ChurnArrival>& arrivals, Cluster& cluster)
      : trace_(trace), arrivals_(arrivals), cluster_(cluster) {}

  void run() {
    std::uint32_t next = 0;
    for (std::uint64_t events = 1; next < arrivals_.size(); ++events) {
      const double arrival = arrivals_[next].time;
      if (!departures_.empty() && departures_.top().first <= arrival) {
        const auto [time, id] = departures_.top();
        departures_.pop();
        send("goes", id, core::PodGone{std::to_string(id)}, time);
      } else {
        core::PodSpec pod =
            sim::to_pod_spec(trace_.pods[arrivals_[next].row], std::to_string(next));
        send("comes", next, core::PodPending{std::move(pod)}, arrival);
        ++next;
      }
      if (events % kEventsPerTick == 0) send("tick", next, core::Tick{}, arrival);
    }
  }

 private:
  void send(std::string_view what, std::uint32_t subject, core::Event event, double time) {
    for (const std::string& uid :
         cluster_.send(what, std::to_string(subject), std::move(event), instant_at(time))) {
      const auto id = static_cast<std::uint32_t>(std::stoul(uid));
      departures_.emplace(time + arrivals_[id].life, id);
    }
  }

  const sim::Trace& trace_;
  const std::vector<sim::ChurnArrival>& arrivals_;
  Cluster& cluster_;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
};

}  // namespace

Status fill(const sim::Trace& trace, core::PolicyOptions options, Log& log) {
  STOWAGE_TRY(arrivals, sim::inflate(trace, kFillTo, kSeed));
  Cluster cluster(std::move(options), Cluster::Refused::leave, log);
  cluster.add_nodes(trace.nodes);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const std::string uid = std::to_string(i);
    cluster.send("comes", uid, core::PodPending{sim::to_pod_spec(trace.pods[arrivals[i]], uid)},
                 {});
  }
  for (const std::string& line : cluster.audit()) log.line(line);
  return {};
}

Status churn(const sim::Trace& trace, core::PolicyOptions options, Log& log) {
  const sim::ChurnConfig config{.load = kLoad, .lifetimes = kLifetimes, .warmup = 0};
  sim::Scenario scenario{.trace = std::make_shared<const sim::Trace>(trace),
                         .measure = sim::GpuMeasure(trace.nodes),
                         .ranks = {},
                         .arrivals = {},
                         .typical = {}};
  STOWAGE_TRY(arrivals, sim::churn_arrivals(scenario, config, kSeed));
  Cluster cluster(std::move(options), Cluster::Refused::wait, log);
  cluster.add_nodes(trace.nodes);
  Churn(trace, arrivals, cluster).run();
  for (const std::string& line : cluster.audit()) log.line(line);
  return {};
}

}  // namespace stowage::decisions
