#include "tests/hostile/controller.h"

#include <algorithm>
#include <ctime>
#include <malloc.h>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codec/extender.h"
#include "dialect/dialect.h"

// From the sanitizers' runtime library; null without it.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace stowage::hostile {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::size_t heap_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

Controller::Controller()
    : cluster_cache_(scheduler::built_in_profiles(), event_queue_,
                     [this](const scheduler::Notice& notice) {
                       using Of = scheduler::Notice::Kind;
                       if (notice.kind != Of::invalid && notice.kind != Of::unsupported) return;
                       ++refused_;
                       if (whys_.size() < 4096) whys_[notice.name] = notice.text.substr(0, 2048);
                     },
                     {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
                      .now = [this] { return base::Instant{now_}; }}),
      engine_([] {
        std::vector<core::PolicyOptions> policies;
        for (const auto& profile : scheduler::built_in_profiles()) {
          policies.push_back(profile.policy);
        }
        return policies;
      }()) {
  event_queue_.open();
}

template <class Work>
void Controller::decode(Work&& work) {
  const double start = cpu_seconds();
  work();
  longest_.decode = std::max(longest_.decode, (cpu_seconds() - start) * 1e3);
  run();
}

void Controller::run() {
  for (;;) {
    auto batch = event_queue_.take_now(1);
    if (!batch || batch->empty()) return;
    for (const auto& message : *batch) {
      now_ += 1'000'000;
      handle(std::get<core::Event>(message));
      while (engine_.unfinished()) handle(core::Continue{});
    }
  }
}

void Controller::handle(const core::Event& event) {
  const double start = cpu_seconds();
  const core::Commands commands = engine_.handle(event, {now_});
  longest_.engine = std::max(longest_.engine, (cpu_seconds() - start) * 1e3);
  most_commands_ = std::max(most_commands_, commands.size());
  for (const auto& command : commands) {
    if (const auto* bind = std::get_if<core::Bind>(&command)) {
      ++bound_;
      handle(core::BindDone{bind->uid});
    }
  }
}

void Controller::upsert_node(std::string_view json) {
  decode([&] {
    if (auto node = decoder_.node(json)) return cluster_cache_.upsert_node(*node);
    ++unreadable_;
  });
}

void Controller::upsert_pod(std::string_view json) {
  decode([&] {
    if (auto pod = decoder_.pod(json)) return cluster_cache_.upsert_pod(std::move(*pod));
    ++unreadable_;
  });
}

void Controller::remove_pod(const std::string& uid) {
  decode([&] { cluster_cache_.remove_pod(uid); });
}

void Controller::remove_node(const std::string& name) {
  decode([&] { cluster_cache_.remove_node(name); });
}

void Controller::upsert_object(core::AuxKind kind, std::string_view json) {
  decode([&] {
    auto aux_object = decoder_.aux_object(kind, json);
    if (aux_object)
      return event_queue_.put_aux_object(aux_object->name, {std::move(aux_object->aux_object)});
    ++unreadable_;
  });
}

void Controller::remove_object(core::AuxKind kind, const std::string& name) {
  decode([&] { event_queue_.put_aux_object_gone({.kind = kind, .name = name}); });
}

void Controller::tick() {
  now_ += 1'000'000'000;
  decode([&] { event_queue_.put_reply(core::Tick{}); });
}

template <class Question>
void Controller::ask(Question&& question) {
  const double start = cpu_seconds();
  core::Commands out;
  question(out);
  longest_.engine = std::max(longest_.engine, (cpu_seconds() - start) * 1e3);
}

void Controller::ask_extender(std::string_view pod_json, const std::string& nodes_json,
                              const std::string& victims_json) {
  codec::ExtenderDecoder decoder;
  std::optional<core::PodSpec> spec;
  std::vector<std::string> nodes;
  decode([&] {
    auto args = decoder.args(fmt::format(R"({{"Pod":{},"NodeNames":{}}})", pod_json, nodes_json));
    if (!args || !args->pod || !args->node_names) return;
    nodes = std::move(*args->node_names);
    auto read = dialect::to_spec(*args->pod, {.placed_by_others = true});
    if (read) spec = std::move(*read);
  });
  core::PreemptRequest preempt;
  decode([&] {
    const auto args = decoder.preemption(
        fmt::format(R"({{"Pod":{},"NodeNameToVictims":{}}})", pod_json, victims_json));
    if (!args) return;
    for (const auto& [node, victims] : args->victims) {
      auto& on = preempt.nodes.emplace_back(core::PreemptRequest::OnNode{.node = node});
      for (const auto& uid : victims.uids) on.candidates.push_back({.uid = uid, .given = true});
    }
  });
  decode([&] {
    (void)decoder.binding(
        fmt::format(R"({{"PodName":"{0}","PodNamespace":"{0}","PodUID":"{0}","Node":"{0}"}})",
                    std::string(pod_json.size() / 4, 'n')));
  });
  if (!spec) return;
  const core::FilterRequest filter{.pod = *spec, .nodes = nodes, .until = {now_ + 1}};
  ask([&](core::Commands& out) { (void)engine_.filter(filter, {now_}, out); });
  ask([&](core::Commands& out) { (void)engine_.score(filter, {now_}, out); });
  preempt.pod = *spec;
  ask([&](core::Commands& /*unused*/) { (void)engine_.preempt(preempt); });
  ask([&](core::Commands& out) {
    (void)engine_.reserve({.pod = *spec, .node = "node-0"}, {now_}, out);
  });
  handle(core::BindFailed{spec->uid});
}

void Controller::ask_extender(std::string_view pod_json) {
  ask_extender(pod_json, R"(["node-0","node-1"])",
               fmt::format(R"({{"node-0":{{"Pods":[{}]}}}})", pod_json));
}

void Controller::ask_extender_long_lists(std::string_view pod_json, std::size_t named) {
  static_assert(kMostNamed == codec::kMaxExtenderNodes && kMostNamed == codec::kMaxExtenderVictims);
  std::string nodes = "[";
  for (std::size_t i = 0; i < named; ++i) {
    nodes += fmt::format(R"({}"node-{}")", i == 0 ? "" : ",", i);
  }
  std::string victims = R"({"node-0":{"Pods":[)";
  for (std::size_t i = 0; i < named; ++i) {
    victims +=
        fmt::format(R"({}{{"metadata":{{"name":"p{}","uid":"u{}"}}}})", i == 0 ? "" : ",", i, i);
  }
  ask_extender(pod_json, nodes + "]", victims + "]}}");
}

std::size_t Controller::ask_preempt(std::string_view pod_json,
                                    std::vector<core::PreemptRequest::OnNode> nodes) {
  core::PreemptRequest request{.nodes = std::move(nodes)};
  decode([&] {
    const auto pod = decoder_.pod(pod_json);
    if (!pod) return;
    if (auto spec = dialect::to_spec(*pod, {.placed_by_others = true})) request.pod = *spec;
  });
  std::size_t answered = 0;
  ask([&](core::Commands& /*unused*/) { answered = engine_.preempt(request).nodes.size(); });
  return answered;
}

Controller::Longest Controller::take_longest() { return std::exchange(longest_, {}); }

std::string Controller::why(const std::string& name) const {
  const auto found = whys_.find(name);
  return found == whys_.end() ? std::string() : found->second;
}

}  // namespace stowage::hostile
