#include "codec/agent_report.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing/json_check.h"

namespace stowage::codec {
namespace {

AgentReport everything() {
  AgentReport report{.version = 1, .node = "n1", .agent = "0.1.0"};
  report.cards = {{.id = "GPU-a",
                   .index = 0,
                   .model = "NVIDIA H200",
                   .brand = "NVIDIA",
                   .bus_id = "00000000:04:00.0",
                   .memory_mib = 143771},
                  {.id = "GPU-b", .index = 1, .healthy = false, .unhealthy_reason = "XID 79"}};
  report.load = {{.card = 0, .busy_permille = 830, .memory_mib = 7, .power_milliwatt = 300'000},
                 {.card = 1, .celsius = -3}};
  report.pods = ReportedPods{
      .all = true,
      .now = {{.ns = "ml",
               .name = "train-0",
               .containers = {{.name = "main", .devices = {{"nvidia.com/gpu", {"GPU-a", "GPU-b"}}}},
                              {.name = "side"}}}},
      .gone = {"ml/old"}};
  report.plugin = ReportedPlugin{.registered = true, .resources = {"stowage.dev/attachment"}};
  return report;
}

TEST(AgentReport, WhatWasWrittenIsRead) {
  AgentReportReader reader;
  AgentReport only_load;
  only_load.load = {{.card = 63, .busy_permille = 0}};
  AgentReport nobody;
  nobody.pods = ReportedPods{.all = true};
  AgentReport no_cards;
  no_cards.cards.emplace();
  AgentReport cut_off;
  cut_off.plugin.emplace();
  for (const AgentReport& report :
       {everything(), AgentReport{}, only_load, nobody, no_cards, cut_off}) {
    const std::string line = agent_report(report);
    EXPECT_TRUE(base::JsonCheck::valid(line)) << line;
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto read = reader.read(line);
    ASSERT_TRUE(read) << read.error().message << " in " << line;
    EXPECT_EQ(*read, report) << line;
  }
}

TEST(AgentReport, LooksAsDocumented) {
  EXPECT_EQ(agent_report({}), "{}\n");
  EXPECT_EQ(
      agent_report(everything()),
      R"({"version":1,"node":"n1","agent":"0.1.0","cards":[{"id":"GPU-a","index":0,)"
      R"("model":"NVIDIA H200","brand":"NVIDIA","busId":"00000000:04:00.0","memoryMiB":143771},)"
      R"({"id":"GPU-b","index":1,"memoryMiB":0,"healthy":false,"sickness":"XID 79"}],)"
      R"("load":[{"card":0,"busyPermille":830,"memoryMiB":7,"powerMilliwatt":300000},)"
      R"({"card":1,"celsius":-3}],"pods":{"all":true,"now":[{"namespace":"ml","name":"train-0",)"
      R"("containers":[{"name":"main","devices":[{"resource":"nvidia.com/gpu",)"
      R"("ids":["GPU-a","GPU-b"]}]},{"name":"side","devices":[]}]}],"gone":["ml/old"]},)"
      R"("plugin":{"registered":true,"resources":["stowage.dev/attachment"]}})"
      "\n");
}

TEST(AgentReport, UnknownFieldsArePassedOver) {
  AgentReportReader reader;
  const auto read = reader.read(R"({"fans":[1,2],"load":[{"card":2,"fan":3}]})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->load.size(), 1U);
  EXPECT_EQ(read->load.front().card, 2);
}

TEST(AgentReport, WhatMakesNoSenseIsAnErrorWithItsPlace) {
  const struct {
    std::string line;
    const char* words;
  } cases[] = {
      {"", ""},
      {"[]", ""},
      {"{} {}", ""},
      {R"({"version":2})", "version 2"},
      {R"({"version":-1})", "version"},
      {R"({"cards":[{"index":0}]})", "cards[0]: the field id is missing"},
      {R"({"cards":[{"id":"a","index":-1}]})", "cards[0].index"},
      {R"({"cards":[{"id":"a","index":0},{"id":"a","index":1}]})", "appears twice"},
      {R"({"cards":[{"id":"a","index":0},{"id":"b","index":0}]})", "appears twice"},
      {R"({"cards":{}})", "cards"},
      {R"({"load":[{"busyPermille":5}]})", "load[0]: the field card is missing"},
      {R"({"load":[{"card":0,"busyPermille":1001}]})", "over 1000"},
      {R"({"load":[{"card":0,"busyPermille":0.5}]})", "busyPermille"},
      {R"({"load":[{"card":99999999999}]})", "card"},
      {R"({"pods":{"now":[{"name":"p"}]}})", "a pod needs a namespace and a name"},
      {R"({"pods":{"now":[{"namespace":"a","name":"p",)"
       R"("containers":[{"devices":[{"ids":[1]}]}]}]}})",
       "ids[0]"},
      {R"({"plugin":{"resources":[]}})", "plugin: the field registered is missing"},
      {R"({"plugin":{"registered":1}})", "plugin.registered"},
      {R"({"plugin":{"registered":true,"resources":[7]}})", "plugin.resources[0]"},
      {R"({"node":")" + std::string(600, 'x') + "\"}", "longer than 512 bytes"},
  };
  AgentReportReader reader;
  for (const auto& [line, words] : cases) {
    const auto read = reader.read(line);
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
  }
}

TEST(AgentReport, HasLimits) {
  const auto many = [](const std::string& before, const std::string& one, std::size_t count,
                       const std::string& after) {
    std::string line = before;
    for (std::size_t i = 0; i < count; ++i) line += (i == 0 ? "" : ",") + one;
    return line + after;
  };
  AgentReportReader reader;
  EXPECT_TRUE(reader.read(many(R"({"load":[)", R"({"card":0})", kReportCardsMax, "]}")));
  EXPECT_FALSE(reader.read(many(R"({"load":[)", R"({"card":0})", kReportCardsMax + 1, "]}")));
  EXPECT_TRUE(reader.read(many(R"({"pods":{"gone":[)", R"("a/b")", kReportPodsMax, "]}}")));
  EXPECT_FALSE(reader.read(many(R"({"pods":{"gone":[)", R"("a/b")", kReportPodsMax + 1, "]}}")));
  const std::string plugin = R"({"plugin":{"registered":true,"resources":[)";
  EXPECT_TRUE(reader.read(many(plugin, R"("a/b")", kReportResourcesMax, "]}}")));
  EXPECT_FALSE(reader.read(many(plugin, R"("a/b")", kReportResourcesMax + 1, "]}}")));
  EXPECT_FALSE(reader.read(R"({"x":")" + std::string(kReportLineMax, 'x') + "\"}"));
  EXPECT_FALSE(reader.read(R"({"cards":[{"id":")" + std::string(257, 'x') + "\"}]}"));
}

// Lines within all other limits that use much more memory when decoded than their size.
TEST(AgentReport, TakesSoMuchMemoryAndNoMore) {
  const auto repeated = [](const std::string& one, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + one;
    return text;
  };
  const auto in_pods = [&](const std::string& containers) {
    const std::string pod = R"({"namespace":"a","name":"b","containers":[)" + containers + "]}";
    const std::size_t count = std::min<std::size_t>(4096, kReportLineMax / (pod.size() + 1) - 1);
    return R"({"pods":{"now":[)" + repeated(pod, count) + "]}}";
  };
  const struct {
    const char* name;
    std::string line;
  } rows[] = {
      {"empty containers", in_pods(repeated("{}", 4096))},
      {"empty devices", in_pods(R"({"devices":[)" + repeated("{}", 4096) + "]}")},
      {"empty ids", in_pods(R"({"devices":[{"ids":[)" + repeated(R"("")", 4096) + "]}]}")},
      {"one list again and again",
       "{" +
           repeated(R"("pods":{"now":[)" + repeated(R"({"namespace":"a","name":"b"})", 4000) + "]}",
                    17) +
           "}"},
  };
  AgentReportReader reader;
  for (const auto& [name, line] : rows) {
    ASSERT_LE(line.size(), kReportLineMax) << name;
    ASSERT_GE(line.size(), kReportLineMax / 2) << name;
    const auto read = reader.read(line);
    ASSERT_FALSE(read) << name;
    EXPECT_NE(read.error().message.find("bytes of memory"), std::string::npos)
        << name << ": " << read.error().message;
  }
}

// The size of a large real node.
TEST(AgentReport, AFullNodeFits) {
  AgentReport report;
  report.pods.emplace().all = true;
  for (int i = 0; i < 2500; ++i) {
    report.pods->now.push_back(
        {.ns = "some-namespace",
         .name = "a-deployment-with-a-name-" + std::to_string(i) + "-7d4f9c5b6-x2x4z",
         .containers = {{.name = "main",
                         .devices = {{"nvidia.com/gpu",
                                      {"GPU-8f6c5b1e-0000-4000-8000-00000000" +
                                       std::to_string(1000 + i)}}}}}});
  }
  AgentReportReader reader;
  const auto read = reader.read(agent_report(report));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, report);
}

}  // namespace
}  // namespace stowage::codec
