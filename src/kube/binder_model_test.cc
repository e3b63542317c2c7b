// The binder against a model of the API server that loses requests and replies, answers with
// errors, and deletes, replaces and binds pods meanwhile. The binder must report what really
// happened.
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "kube/binder.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::run_until;
using testing::SeenRequest;

struct ModelPod {
  std::string uid;
  std::string node;
  std::string annotation;
};

class ModelServer {
 public:
  ModelServer(FakeApiServer& server, std::uint64_t seed, int pods) : rng_(seed) {
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("p{}", i);
      const std::string path = "/api/v1/namespaces/ns/pods/" + name;
      pods_[name] = {.uid = "u-" + name};
      server.script("POST", path + "/binding",
                    {[this, name](const SeenRequest&, const std::shared_ptr<net::Responder>& to) {
                      binding(name, to);
                    }});
      server.script("GET", path,
                    {[this, name](const SeenRequest&, const std::shared_ptr<net::Responder>& to) {
                      read(name, to);
                    }});
    }
  }

  // The intended pod is on our node with our annotation.
  [[nodiscard]] bool is_ours(const std::string& name) const {
    const auto found = pods_.find(name);
    return found != pods_.end() && found->second.uid == "u-" + name &&
           found->second.node == "ours" && found->second.annotation == "v";
  }

 private:
  static void send(const std::shared_ptr<net::Responder>& to, int code) {
    to->send({code, {}, testing::status_json(code, "Reason", "words")});
  }
  static void send_not_found(const std::shared_ptr<net::Responder>& to, const std::string& name) {
    to->send({404, {}, testing::not_found_json("pods", name)});
  }

  // Other clients change pods too.
  void meddle(const std::string& name) {
    const auto found = pods_.find(name);
    if (found == pods_.end() || !found->second.node.empty() || rng_.below(5) != 0) return;
    switch (rng_.below(3)) {
      case 0: pods_.erase(found); break;
      case 1: found->second = {.uid = "another"}; break;
      default: found->second.node = rng_.below(2) == 0 ? "ours" : "theirs";
    }
  }

  void binding(const std::string& name, const std::shared_ptr<net::Responder>& to) {
    meddle(name);
    const std::uint64_t dice = rng_.below(10);
    if (dice == 0) {  // lost before the server acted
      to->abort();
      return;
    }
    if (dice == 1) {
      send(to, rng_.below(2) == 0 ? 500 : 429);
      return;
    }
    const int code = act(name);
    if (dice == 2) {  // lost after the server acted
      to->abort();
    } else if (dice == 3) {
      send(to, rng_.below(2) == 0 ? 504 : 404);  // from the server, or from a proxy before it
    } else if (dice == 4) {
      silent_.push_back(to);
    } else if (code == 404) {
      send_not_found(to, name);
    } else {
      send(to, code);
    }
  }

  int act(const std::string& name) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) return 404;
    ModelPod& pod = found->second;
    if (pod.uid != "u-" + name || !pod.node.empty()) return 409;
    pod.node = "ours";
    pod.annotation = "v";
    return 201;
  }

  void read(const std::string& name, const std::shared_ptr<net::Responder>& to) {
    meddle(name);
    const auto found = pods_.find(name);
    if (rng_.below(4) == 0) {
      send(to, rng_.below(2) == 0 ? 500 : 404);
    } else if (found == pods_.end()) {
      send_not_found(to, name);
    } else {
      const ModelPod& pod = found->second;
      to->send({200,
                {},
                fmt::format(R"({{"metadata":{{"name":"{}","namespace":"ns","uid":"{}",)"
                            R"("annotations":{{"k":"{}"}}}},"spec":{{"nodeName":"{}"}}}})",
                            name, pod.uid, pod.annotation, pod.node)});
    }
  }

  base::Rng rng_;
  std::map<std::string, ModelPod> pods_;
  std::vector<std::shared_ptr<net::Responder>> silent_;
};

TEST(BinderModel, WhatTheBinderSaysIsSo) {
  // Few at a time: a machine under load answers them all within the deadline.
  constexpr int kPods = 40;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    net::EventLoop loop;
    FakeApiServer server(loop);
    const ModelServer model(server, seed, kPods);
    const auto client = server.client({.retry_pause_default = milliseconds{1}});
    Binder binder(*client, {.attempt_deadline = milliseconds{250},
                            .total_deadline = seconds{60},
                            .pause_min = milliseconds{1},
                            .pause_max = milliseconds{4},
                            .seed = seed});
    std::map<std::string, BindOutcome> outcomes;
    for (int i = 0; i < kPods; ++i) {
      const std::string name = fmt::format("p{}", i);
      binder.bind({.ns = "ns",
                   .name = name,
                   .uid = "u-" + name,
                   .node = "ours",
                   .annotations = {{"k", "v"}}},
                  [&outcomes, name](BindOutcome outcome) {
                    EXPECT_TRUE(outcomes.emplace(name, std::move(outcome)).second) << name;
                  });
    }
    ASSERT_TRUE(run_until(loop, [&] { return outcomes.size() == kPods; })) << "seed " << seed;
    for (const auto& [name, outcome] : outcomes) {
      if (outcome.maybe_bound) continue;
      EXPECT_EQ(outcome.result == BindResult::bound, model.is_ours(name))
          << "seed " << seed << ", " << name << ": " << outcome.message;
    }
    const BinderCounters counters = binder.counters();
    EXPECT_EQ(counters.bound + counters.gone + counters.refused + counters.failed, kPods);
    EXPECT_GT(counters.bound, 15U);
    EXPECT_GT(counters.unknown, 2U);
    EXPECT_EQ(counters.in_flight + counters.waiting, 0U);
  }
}

}  // namespace
}  // namespace stowage::kube
