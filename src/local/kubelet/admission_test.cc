#include "local/kubelet/admission.h"

#include <gtest/gtest.h>

namespace stowage::local {
namespace {

json::object parse(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? value->as_object() : json::object();
}

json::object pod_asking(const std::string& requests, const std::string& annotation = "") {
  json::object pod = parse(R"({"metadata":{"annotations":{}},"spec":{"nodeName":"n","containers":[
      {"name":"main","resources":{"requests":)" +
                           requests + "}}]}}");
  if (!annotation.empty()) {
    pod["metadata"].as_object()["annotations"].as_object()["stowage.dev/gpus"] = annotation;
  }
  return pod;
}

std::string on_card(const std::string& card, int milli, int mib) {
  return R"({"version":1,"node":"n","containers":{"main":[{"id":")" + card +
         R"(","index":0,"milli":)" + std::to_string(milli) + R"(,"memoryMiB":)" +
         std::to_string(mib) + "}]}}";
}

TEST(Admission, TheDemandOfAPodIsThatOfItsLargestMoment) {
  const json::object pod = parse(R"({"spec":{
    "initContainers":[
      {"name":"first","resources":{"requests":{"cpu":"3"}}},
      {"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}},
      {"name":"second","resources":{"requests":{"cpu":"2","memory":"1Gi"}}}],
    "containers":[
      {"name":"a","resources":{"requests":{"cpu":"1","nvidia.com/gpu":"1"}}},
      {"name":"b","resources":{"requests":{"cpu":"250m"}}}],
    "overhead":{"cpu":"10m"}}})");
  const Amounts expected = {
      {"cpu", 3010}, {"memory", 1LL << 30U}, {"nvidia.com/gpu", 1}, {"pods", 1}};
  EXPECT_EQ(demand_of(pod), expected);
}

TEST(Admission, WhatTheNodeDoesNotHaveIsRefusedInTheWordsOfAKubelet) {
  Admission admission;
  admission.set_node("n", supply_of(parse(R"({"status":{"allocatable":
      {"cpu":"2","memory":"4Gi","pods":"3","nvidia.com/gpu":"2"}}})")));
  EXPECT_EQ(admission.admit("n", "1", pod_asking(R"({"cpu":"1500m"})")), std::nullopt);
  const auto cpu = admission.admit("n", "2", pod_asking(R"({"cpu":"501m"})"));
  ASSERT_TRUE(cpu.has_value());
  EXPECT_EQ(cpu->reason, "OutOfcpu");
  EXPECT_EQ(cpu->message,
            "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000");
  const auto gpu = admission.admit("n", "3", pod_asking(R"({"nvidia.com/gpu":"3"})"));
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->reason, "UnexpectedAdmissionError");
  EXPECT_NE(gpu->message.find("Requested: 3, Available: 2"), std::string::npos);
  EXPECT_TRUE(admission.admit("n", "4", pod_asking(R"({"other.com/thing":"1"})")).has_value());
  EXPECT_TRUE(admission.admit("n", "5", pod_asking(R"({"cpu":"99999999999999999999"})")));
  EXPECT_EQ(admission.admit("n", "6", pod_asking(R"({"nvidia.com/gpu":"2"})")), std::nullopt);
  EXPECT_EQ(admission.admit("n", "7", pod_asking("{}")), std::nullopt);
  const auto pods = admission.admit("n", "8", pod_asking("{}"));
  ASSERT_TRUE(pods.has_value());
  EXPECT_EQ(pods->reason, "OutOfpods");
}

TEST(Admission, WhatIsReleasedCanBeTakenAgain) {
  Admission admission;
  admission.set_node("n", supply_of(parse(R"({"status":{"allocatable":{"cpu":"1","pods":"9"}}})")));
  EXPECT_EQ(admission.admit("n", "1", pod_asking(R"({"cpu":"1"})")), std::nullopt);
  EXPECT_EQ(admission.admit("n", "1", pod_asking(R"({"cpu":"1"})")), std::nullopt) << "idempotent";
  EXPECT_TRUE(admission.admit("n", "2", pod_asking(R"({"cpu":"1"})")).has_value());
  admission.release("1");
  admission.release("1");
  EXPECT_EQ(admission.admit("n", "2", pod_asking(R"({"cpu":"1"})")), std::nullopt);
}

json::object node_with_card() {
  json::object node = parse(R"({"metadata":{"annotations":{}},"status":{"allocatable":
        {"pods":"9","stowage.dev/gpu":"1","stowage.dev/gpu-core":"100"}}})");
  node["metadata"].as_object()["annotations"].as_object()["stowage.dev/gpu-inventory"] =
      R"({"version":1,"cards":[{"id":"GPU-a","index":0,"memoryMiB":1000}]})";
  return node;
}

TEST(Admission, SharesOfACardAreAddedUpAndTooManyAreRefused) {
  Admission admission;
  admission.set_node("n", supply_of(node_with_card()));
  // Two shares of one card: counted by resource name they would be two cards.
  const std::string asks = R"({"stowage.dev/gpu":"1","stowage.dev/gpu-core":"60"})";
  EXPECT_EQ(admission.admit("n", "1", pod_asking(asks, on_card("GPU-a", 600, 500))), std::nullopt);
  const auto core = admission.admit("n", "2", pod_asking(asks, on_card("GPU-a", 401, 0)));
  ASSERT_TRUE(core.has_value());
  EXPECT_NE(core->message.find("600 + 401 of 1000 milli"), std::string::npos) << core->message;
  EXPECT_TRUE(admission.admit("n", "3", pod_asking(asks, on_card("GPU-a", 0, 501))).has_value());
  EXPECT_TRUE(admission.admit("n", "4", pod_asking(asks, on_card("GPU-b", 1, 1))).has_value());
  EXPECT_EQ(admission.admit("n", "5", pod_asking(asks, on_card("GPU-a", 400, 500))), std::nullopt);
}

TEST(Admission, UnlistedCardsAreCountedByTheirComputeAlone) {
  Admission admission;
  admission.set_node("n", supply_of(parse(R"({"status":{"allocatable":{"pods":"9"}}})")));
  EXPECT_EQ(admission.admit("n", "1", pod_asking("{}", on_card("n/0", 700, 99999))), std::nullopt);
  EXPECT_TRUE(admission.admit("n", "2", pod_asking("{}", on_card("n/0", 400, 1))).has_value());
  EXPECT_EQ(admission.admit("n", "3", pod_asking("{}", on_card("n/1", 400, 1))), std::nullopt);
}

TEST(Admission, AnAnnotationForAnotherNodeOrOfNonsenseCountsForNothing) {
  for (const char* text : {"", "junk", "[]", R"({"node":"other","containers":{"main":[]}})",
                           R"({"node":"n","containers":7})"}) {
    EXPECT_TRUE(cards_of(pod_asking("{}", text)).empty()) << text;
  }
  Admission admission;
  admission.set_node("n", supply_of(node_with_card()));
  const std::string asks = R"({"stowage.dev/gpu":"2"})";
  EXPECT_TRUE(admission.admit("n", "1", pod_asking(asks, "junk")).has_value());
}

TEST(Admission, InitContainersUseTheirCardsBeforeTheOthers) {
  json::object pod = parse(R"({"metadata":{"annotations":{}},"spec":{"nodeName":"n",
    "initContainers":[{"name":"i"}],"containers":[{"name":"a"},{"name":"b"}]}})");
  pod["metadata"].as_object()["annotations"].as_object()["stowage.dev/gpus"] =
      R"({"version":1,"node":"n","containers":{
        "i":[{"id":"x","milli":900,"memoryMiB":10}],
        "a":[{"id":"x","milli":300,"memoryMiB":20}],
        "b":[{"id":"x","milli":300,"memoryMiB":20},{"id":"y","milli":1,"memoryMiB":2}]}})";
  const std::vector<CardUse> expected = {{"x", 900, 40}, {"y", 1, 2}};
  EXPECT_EQ(cards_of(pod), expected);
}

}  // namespace
}  // namespace stowage::local
