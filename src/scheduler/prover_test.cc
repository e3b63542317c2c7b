#include "scheduler/prover.h"

#include <gtest/gtest.h>

#include "dialect/own_annotations.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::scheduler {
namespace {

using Verdict = kube::SealCheck::Result;

dialect::PodObject signed_pod(const kube::Keys& keys, int number) {
  dialect::PodObject pod;
  pod.uid = std::to_string(number);
  pod.node = "n";
  dialect::Annotations answer{{std::string(dialect::kGpusAnnotation), "{}"}};
  kube::seal(*keys, {.object = pod, .node = "n", .unix_nanos = 1}, answer);
  pod.annotations = answer;
  return pod;
}

TEST(Prover, PodsComeOutInTheirOrderWithWhatTheyAreWorth) {
  const kube::Keys keys = kube::testing::keys_from_seed("x");
  Prover prover(3);
  constexpr int kPods = 200;
  for (int i = 0; i < kPods; ++i) {
    dialect::PodObject pod = signed_pod(keys, i);
    if (i % 3 == 1) pod.annotations[std::string(dialect::kGpusAnnotation)] = "[]";
    if (i % 3 == 2) pod.annotations.clear();
    prover.put(keys, std::move(pod));
  }
  for (int i = 0; i < kPods; ++i) {
    const auto next = prover.take(0);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->object.uid, std::to_string(i));
    if (i % 3 == 2) {
      EXPECT_FALSE(next->check);
    } else {
      EXPECT_EQ(next->check->result, i % 3 == 0 ? Verdict::good : Verdict::bad);
    }
  }
  EXPECT_FALSE(prover.take(0));
}

TEST(Prover, WhatIsUnderWayMayBeForgotten) {
  const kube::Keys keys = kube::testing::keys_from_seed("x");
  for (int round = 0; round < 20; ++round) {
    Prover prover(2);
    for (int i = 0; i < 10; ++i) prover.put(keys, signed_pod(keys, i));
    if (round % 2 == 0) prover.clear();
  }
}

}  // namespace
}  // namespace stowage::scheduler
