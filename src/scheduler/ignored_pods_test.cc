#include "scheduler/ignored_pods.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

dialect::PodObject asking(const std::string& uid) {
  dialect::PodObject pod;
  pod.uid = pod.name = uid;
  pod.scheduler = "stowge";
  dialect::ContainerObject container{.name = "main"};
  container.limits = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  container.requests = container.limits;
  pod.containers = {container};
  return pod;
}

std::string due(IgnoredPods& pods, std::int64_t seconds) {
  std::string text;
  for (const auto& pod : pods.take_due({seconds * kSecond})) text += pod.uid + ";";
  return text;
}

TEST(IgnoredPods, AreToldAfterAMinuteEachOnce) {
  IgnoredPods pods;
  pods.watch(asking("b"), {0});
  pods.watch(asking("a"), {kSecond});
  pods.watch(asking("b"), {30 * kSecond});  // seen again: its minute does not start again
  EXPECT_EQ(due(pods, 59), "");
  EXPECT_EQ(due(pods, 60), "b;");
  EXPECT_EQ(due(pods, 100), "a;");
  pods.watch(asking("b"), {101 * kSecond});
  EXPECT_EQ(due(pods, 1000), "") << "told before";
}

TEST(IgnoredPods, OneThatASchedulerLooksAtIsNotIgnored) {
  IgnoredPods pods;
  for (const char* uid : {"refused", "nominated", "gone"}) pods.watch(asking(uid), {0});
  auto refused = asking("refused");
  refused.unscheduled_reason = "Unschedulable";
  pods.watch(refused, {kSecond});
  auto nominated = asking("nominated");
  nominated.nominated = "n";
  pods.watch(nominated, {kSecond});
  pods.forget("gone");
  pods.forget("never seen");
  EXPECT_EQ(due(pods, 1000), "");
}

TEST(IgnoredPods, OnesThatAskForNoCardsAreNoneOfOurs) {
  IgnoredPods pods;
  auto plain = asking("plain");
  plain.containers[0].limits = plain.containers[0].requests = {};
  pods.watch(plain, {0});
  EXPECT_EQ(due(pods, 1000), "");
}

TEST(IgnoredPods, NotTooManyAreTakenAtOnce) {
  IgnoredPods pods;
  for (int i = 0; i < 150; ++i) pods.watch(asking(std::to_string(i)), {0});
  EXPECT_EQ(pods.take_due({60 * kSecond}).size(), 100U);
  EXPECT_EQ(pods.take_due({60 * kSecond}).size(), 50U);
}

TEST(IgnoredPods, TheSentenceNamesTheNearestProfile) {
  const std::string text =
      IgnoredPods::sentence({.uid = "u", .scheduler = "stowge"}, {"stowage", "other"});
  EXPECT_EQ(text,
            "no scheduler has handled this pod for 60 s: check its schedulerName \"stowge\". Did "
            "you mean stowage? Stowage handles stowage, other");
}

}  // namespace
}  // namespace stowage::scheduler
