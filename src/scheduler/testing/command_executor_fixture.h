// A command executor with all its dependencies, for its tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "scheduler/command_executor.h"

namespace stowage::scheduler::testing {

using kube::testing::drop;
using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

inline constexpr const char* kVictim = "/api/v1/namespaces/ns/pods/victim";
inline constexpr const char* kStatus = "/api/v1/namespaces/ns/pods/victim/status";
inline constexpr const char* kPodStatus = "/api/v1/namespaces/ns/pods/p/status";
inline constexpr const char* kBinding = "/api/v1/namespaces/ns/pods/p/binding";
inline constexpr const char* kClaim = "/api/v1/namespaces/ns/persistentvolumeclaims/data";
inline constexpr const char* kMore = "/api/v1/namespaces/ns/persistentvolumeclaims/more";
inline constexpr const char* kVolume = "/api/v1/persistentvolumes/v1";
inline constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/ns/events";

inline dialect::NodeObject node_object(const std::string& name) {
  dialect::NodeObject node;
  node.name = name;
  node.allocatable = {{"cpu", *base::Quantity::parse("64")},
                      {"memory", *base::Quantity::parse("512Gi")},
                      {"pods", *base::Quantity::parse("110")}};
  node.capacity = node.allocatable;
  return node;
}

inline dialect::PodObject pod_object(const std::string& name) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.scheduler = "stowage";
  pod.phase = "Pending";
  pod.containers = {dialect::ContainerObject{.name = "main"}};
  return pod;
}

// With the cards of these ids, in this order, as the node's agent writes them.
inline dialect::NodeObject node_with(const std::string& name, const std::vector<std::string>& ids) {
  dialect::NodeObject node = node_object(name);
  std::vector<core::Card> cards;
  for (const std::string& id : ids) {
    cards.push_back({.id = id,
                     .index = static_cast<std::int32_t>(cards.size()),
                     .model = "T4",
                     .memory_mib = 16384});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(cards, {});
  return node;
}

inline std::string event_text(const core::Event& event) {
  if (const auto* e = std::get_if<core::BindDone>(&event)) return "done " + e->uid;
  if (const auto* e = std::get_if<core::BindFailed>(&event)) return "failed " + e->uid;
  if (const auto* e = std::get_if<core::EvictFailed>(&event)) return "stays " + e->uid;
  if (const auto* e = std::get_if<core::Picked>(&event)) {
    return "picked " + e->uid + " " + std::to_string(e->generation) + " '" + e->node + "'";
  }
  return "other";
}

// A command executor with all its dependencies, a scripted API server, and claims that the test
// sets.
class CommandExecutorTest : public ::testing::Test {
 protected:
  CommandExecutorTest() {
    server_.script("POST", kEvents, {reply(201)});
    server_.script("POST", kBinding, {reply(201)});
    claims_["ns/data"] = {.uid = "c1", .resource_version = "5"};
    claims_["ns/more"] = {.uid = "c2", .resource_version = "5"};
    cluster_cache_.upsert_node(node_object("n1"));
    cluster_cache_.upsert_pod(pod_object("p"));
    auto victim = pod_object("victim");
    victim.node = "n1";
    cluster_cache_.upsert_pod(victim);
    (void)event_queue_.take(100);
  }

  void start(net::Duration limit = std::chrono::hours{1}) {
    const ClaimBinderOptions claims{.limit = limit, .look_every = milliseconds{2}};
    command_executor_ = std::make_unique<CommandExecutor>(
        CommandExecutor::Options{.claims = claims, .profiles = profiles_},
        CommandExecutor::Deps{
            .cluster_cache = cluster_cache_,
            .event_queue = event_queue_,
            .binder = binder_,
            .recorder = recorder_,
            .conditions = conditions_,
            .pods = pods_,
            .objects = objects_,
            .loop = loop_,
            .log = log_,
            .wall_clock = [] { return kube::WallTime{}; },
            .claim = [this](const std::string& name) -> const ClaimView* {
              const auto found = claims_.find(name);
              return found == claims_.end() ? nullptr : &found->second;
            },
            .on_claims_waiting = [this](std::size_t pods) { claims_waiting_ = pods; }});
  }
  void execute(core::Command command) { command_executor_->execute({std::move(command)}); }
  void bind(std::vector<core::ClaimStep> claims) {
    execute(core::Bind{.uid = "uid-p", .node = "n1", .cards = {{{}}}, .claims = std::move(claims)});
  }
  void set_claim(const std::string& name, const ClaimView& view) {
    claims_[name] = view;
    command_executor_->claim_changed(name);
  }
  // Waits for a reply to the engine; "" if none comes in time.
  std::string told() {
    if (!run_until(loop_, [&] { return event_queue_.sizes().replies > 0; })) return "";
    std::string text;
    const auto messages = event_queue_.take(0);
    for (const auto& message : *messages) text += event_text(std::get<core::Event>(message)) + ";";
    return text;
  }
  bool called(const std::string& method, const std::string& path, std::size_t times = 1) {
    return run_until(loop_, [&] { return server_.seen(method, path).size() >= times; });
  }
  // Methods and last parts of paths of the calls so far, without events.
  std::string calls() const {
    std::string text;
    for (const auto& seen : server_.seen()) {
      if (seen.path == kEvents) continue;
      text += seen.method + " " + seen.path.substr(seen.path.rfind('/') + 1) + ";";
    }
    return text;
  }
  bool has_event(const std::string& words) {
    return run_until(loop_, [&] {
      for (const auto& seen : server_.seen("POST", kEvents)) {
        if (seen.body.find(words) != std::string::npos) return true;
      }
      return false;
    });
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::string logged_;
  base::Log log_{{.level = base::LogLevel::debug,
                  .write = [this](std::string_view line) { logged_ += line; }}};
  std::vector<Profile> profiles_ = built_in_profiles();
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  EventQueue event_queue_;
  kube::Binder binder_{*client_};
  kube::EventRecorder recorder_{*client_, {.instance = "test"}};
  kube::ConditionWriter conditions_{*client_};
  kube::PodAccess pods_{*client_};
  kube::ObjectAccess objects_{*client_,
                              {.total_deadline = std::chrono::milliseconds{300},
                               .pause_min = milliseconds{1},
                               .pause_max = milliseconds{4}}};
  ClusterCache cluster_cache_{
      profiles_,
      event_queue_,
      [](const Notice&) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  std::map<std::string, ClaimView> claims_;
  std::size_t claims_waiting_ = 0;
  std::unique_ptr<CommandExecutor> command_executor_;
};

}  // namespace stowage::scheduler::testing
