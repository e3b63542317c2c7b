#include "metricsapi/schedule.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "metricsapi/testing/node_reports.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::Desk;
using testing::pod;

// Takes one answer.
class Mouth final : public net::Responder {
 public:
  explicit Mouth(net::HttpResponse& out) : out_(out) {}
  void send(net::HttpResponse response) override { out_ = std::move(response); }
  void begin(net::HttpResponse) override {}
  void upgrade(std::string, std::function<void(std::string_view)>) override {}
  void write(std::shared_ptr<const std::string>) override {}
  void end() override {}
  [[nodiscard]] std::size_t backlog() const override { return 0; }
  void abort() override {}
  void on_closed(std::function<void()>) override {}

 private:
  net::HttpResponse& out_;
};

// n1 tesla t4 {g1,g2,g3}, busy {g1}; n2 t4 {h1,h2} + a100 {h3}; n3 a100 {k1}; n4 t4 {m1}, its agent
// is silent; n5 unknown. The fake extender answers from these cards.
struct ScheduleTest : ::testing::Test {
  ScheduleTest() {
    desk.cards("n4", {card("m1", 0, "Tesla T4")});
    desk.pass(4s);
    desk.cards("n1",
               {card("g1", 0, "Tesla T4"), card("g2", 1, "Tesla T4"), card("g3", 2, "Tesla T4")});
    desk.pods("n1", {pod("d", "p", {"g1"})});
    desk.cards("n2", {card("h1", 0, "Tesla T4"), card("h2", 1, "Tesla T4"), card("h3", 2, "A100")});
    desk.cards("n3", {card("k1", 0, "A100")});
  }

  // Free cards of the model. An empty model: the pod names none, and all nodes match.
  [[nodiscard]] std::size_t free(const std::string& node, const std::string& model) const {
    const GpuInfo info = gpu_info(*desk.report_cache.node_report(node), desk.now);
    const auto found = info.models.find(model);
    if (found == info.models.end()) return 0;
    return static_cast<std::size_t>(
        std::count_if(found->second.begin(), found->second.end(), [&](const std::string& id) {
          return std::find(info.busy.begin(), info.busy.end(), id) == info.busy.end();
        }));
  }

  [[nodiscard]] net::HttpResponse extender(ScheduleVerb verb, const std::string& body) const {
    codec::ExtenderDecoder decoder;
    if (verb == ScheduleVerb::preempt) {
      return json_answer(codec::encode_preemption_result(decoder.preemption(body).value().victims));
    }
    const auto args = decoder.args(std::string_view(body)).value();
    const auto annotation = args.pod->annotations.find("nvidia.com/gpu.model");
    const std::string model =
        annotation == args.pod->annotations.end() ? "" : normal_model(annotation->second);
    const bool any = model.empty();
    std::vector<std::string_view> fit;
    codec::Reasons failed;
    std::vector<codec::HostScore> scores;
    for (const std::string& node : *args.node_names) {
      const std::size_t cards = any ? 0 : free(node, model);
      const bool fits =
          any || (desk.report_cache.node_report(node) != nullptr && cards >= gpus &&
                  !gpu_info(*desk.report_cache.node_report(node), desk.now).models[model].empty());
      if (fits) {
        fit.emplace_back(node);
      } else {
        failed.emplace_back(node, "full");
      }
      scores.push_back({node, static_cast<std::int64_t>(cards)});
    }
    return json_answer(verb == ScheduleVerb::filter
                           ? codec::encode({.node_names = &fit, .failed = failed})
                           : codec::encode_priorities(scores));
  }

  net::HttpResponse ask(ScheduleVerb verb, const std::string& body) {
    asked.clear();
    Schedule schedule(desk.report_cache,
                      {[this](ScheduleVerb to, std::string question, auto answer) {
                        asked.push_back(question);
                        answer(extender(to, question));
                      }});
    net::HttpResponse answer{.status = 0};
    schedule.serve(verb, body, std::make_shared<Mouth>(answer));
    return answer;
  }
  static std::string question(const std::string& model, const std::string& nodes) {
    const std::string annotations =
        model.empty() ? "" : R"(,"annotations":{"nvidia.com/gpu.model":")" + model + "\"}";
    return R"({"Pod":{"metadata":{"name":"p","namespace":"d")" + annotations +
           R"(},"spec":{"containers":[]}},"Nodes":null,"NodeNames":)" + nodes + "}";
  }

  Desk desk;
  std::size_t gpus = 1;
  std::vector<std::string> asked;
};

constexpr const char* kAll = R"(["n1","n2","n3","n4","n5"])";

TEST_F(ScheduleTest, TheOriginalsTable) {
  struct Row {
    const char* model;
    std::size_t gpus;
    std::vector<std::string> nodes;
  };
  const Row rows[] = {{"", 1, {"n1", "n2", "n3", "n4", "n5"}},
                      {"Tesla T4", 1, {"n1", "n2"}},
                      {"Tesla T4", 3, {}},
                      {"T4", 1, {}},
                      {"Tesla T4", 0, {"n1", "n2"}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.model) + " x" + std::to_string(row.gpus));
    gpus = row.gpus;
    const auto answer = ask(ScheduleVerb::filter, question(row.model, kAll));
    ASSERT_EQ(answer.status, 200);
    codec::ExtenderDecoder decoder;
    const auto read = decoder.filter_answer(answer.body).value();
    EXPECT_EQ(read.node_names.value(), row.nodes);
    std::set<std::string> told(row.nodes.begin(), row.nodes.end());
    for (const auto* reasons : {&read.failed, &read.unresolvable}) {
      for (const auto& [node, why] : *reasons) {
        EXPECT_FALSE(why.empty());
        told.insert(node);
      }
    }
    EXPECT_EQ(told.size(), 5U) << "each node is taken or has a reason: " << answer.body;
  }
}

TEST_F(ScheduleTest, NodesWithoutReportsAreDroppedWithAReason) {
  const auto answer = ask(ScheduleVerb::filter, question("Tesla T4", kAll));
  EXPECT_EQ(answer.body, R"({"Nodes":null,"NodeNames":["n1","n2"],"FailedNodes":{"n3":"full"},)"
                         R"("FailedAndUnresolvableNodes":{)"
                         R"("n4":"the node's agent is silent: the state of its cards is unknown",)"
                         R"("n5":"no agent has reported the cards of the node"},"Error":""})");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0], question("Tesla T4", R"(["n1","n2","n3"])"))
      << "the extender keeps nothing on the others";
}

TEST_F(ScheduleTest, PodsThatNameNoModelArePassedOnAsTheyAre) {
  const std::string body = " " + question("", kAll);
  EXPECT_EQ(ask(ScheduleVerb::filter, body).status, 200);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0], body);
  const std::string blank = question("  ", kAll);
  EXPECT_EQ(ask(ScheduleVerb::filter, blank).status, 200);
  EXPECT_EQ(asked[0], blank);
}

TEST_F(ScheduleTest, WithoutNodesTheExtenderIsNotAsked) {
  EXPECT_EQ(ask(ScheduleVerb::filter, question("Tesla T4", R"(["n5"])")).body,
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{)"
            R"("n5":"no agent has reported the cards of the node"},"Error":""})");
  EXPECT_EQ(ask(ScheduleVerb::prioritize, question("Tesla T4", R"(["n4","n5"])")).body,
            R"([{"Host":"n4","Score":0},{"Host":"n5","Score":0}])");
  EXPECT_TRUE(asked.empty());
}

TEST_F(ScheduleTest, ScoresOfTheOthersAreNothing) {
  EXPECT_EQ(ask(ScheduleVerb::prioritize, question("Tesla T4", kAll)).body,
            R"([{"Host":"n1","Score":2},{"Host":"n2","Score":2},{"Host":"n3","Score":0},)"
            R"({"Host":"n4","Score":0},{"Host":"n5","Score":0}])");
}

TEST_F(ScheduleTest, WholeNodesAreDroppedToo) {
  const auto answer = [&] {
    Schedule schedule(desk.report_cache, {[this](ScheduleVerb, std::string body, auto reply) {
                        asked.push_back(std::move(body));
                        reply(json_answer(R"({"nodes":{"items":[{"metadata":{"name":"n1"}}]}})"));
                      }});
    net::HttpResponse out;
    schedule.serve(
        ScheduleVerb::filter,
        R"({"pod":{"metadata":{"annotations":{"nvidia-gpu-scheduler/gpu.model":"a100"}}},)"
        R"("nodes":{"items":[{"metadata":{"name":"n1"},"x":1},{"metadata":{"name":"n5"}}]}})",
        std::make_shared<Mouth>(out));
    return out;
  }();
  EXPECT_EQ(asked.at(0),
            R"({"Pod":{"metadata":{"annotations":{"nvidia-gpu-scheduler/gpu.model":"a100"}}},)"
            R"("Nodes":{"metadata":{},"items":[{"metadata":{"name":"n1"},"x":1}]},)"
            R"("NodeNames":null})");
  EXPECT_TRUE(answer.body.starts_with(
      R"({"Nodes":{"metadata":{},"items":[{"metadata":{"name":"n1"}}]},"NodeNames":null,)"))
      << answer.body;
}

TEST_F(ScheduleTest, NoPodIsEvictedFromNodesWithoutReports) {
  const std::string victims = R"("NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}]},)"
                              R"("n4":{"Pods":[{"UID":"b"}]}}})";
  EXPECT_EQ(
      ask(ScheduleVerb::preempt,
          R"({"Pod":{"metadata":{"annotations":{"nvidia.com/gpu.model":"Tesla T4"}}},)" + victims)
          .body,
      R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}],"NumPDBViolations":0}}})");
  EXPECT_EQ(ask(ScheduleVerb::preempt, R"({"Pod":{"metadata":{}},)" + victims).body,
            R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}],"NumPDBViolations":0},)"
            R"("n4":{"Pods":[{"UID":"b"}],"NumPDBViolations":0}}})");
}

TEST_F(ScheduleTest, WhatCannotBeReadOrAnswered) {
  for (const auto verb : {ScheduleVerb::filter, ScheduleVerb::prioritize, ScheduleVerb::preempt}) {
    EXPECT_EQ(ask(verb, "{").status, 400);
    EXPECT_TRUE(asked.empty());
  }
  Schedule nobody(desk.report_cache, {});
  net::HttpResponse answer;
  nobody.serve(ScheduleVerb::filter, "{}", std::make_shared<Mouth>(answer));
  EXPECT_EQ(answer.status, 501);
  for (const auto& [reply, status] :
       {std::pair{net::HttpResponse{.status = 503, .body = "later"}, 503},
        std::pair{net::HttpResponse{.status = 200, .body = "nonsense"}, 502}}) {
    Schedule broken(desk.report_cache,
                    {[&](ScheduleVerb, const std::string&, auto done) { done(reply); }});
    for (const auto verb : {ScheduleVerb::filter, ScheduleVerb::prioritize}) {
      broken.serve(verb, question("Tesla T4", kAll), std::make_shared<Mouth>(answer));
      EXPECT_EQ(answer.status, status);
    }
  }
}

}  // namespace
}  // namespace stowage::metricsapi
