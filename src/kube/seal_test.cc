#include "kube/seal.h"

#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "dialect/own_annotations.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::kube {
namespace {

using Result = SealCheck::Result;

class SealTest : public ::testing::Test {
 protected:
  SealTest() {
    pod_.uid = "5f0c1c9e-0001";
    pod_.annotations = {{"mine", "1"}};
    dialect::Annotations answer{{gpus_, R"({"version":1,"node":"n1"})"},
                                {"tencent.com/predicate-node", "n1"},
                                {"tencent.com/predicate-gpu-idx-0", "1"},
                                {"tencent.com/predicate-time", "17"}};
    seal(*keys_, {.object = pod_, .node = "n1", .unix_nanos = 1'790'000'000'000'000'000}, answer);
    for (const auto& [key, text] : answer) pod_.annotations[key] = text;
  }
  [[nodiscard]] Result check(const std::string& node = "n1") const {
    return check_seal(*keys_, pod_, node).result;
  }

  const std::string gpus_{dialect::kGpusAnnotation};
  const std::string signature_{dialect::kSignatureAnnotation};
  Keys keys_ = testing::keys_from_seed("a seed");
  dialect::PodObject pod_;
};

TEST_F(SealTest, WhatWasWrittenIsGood) {
  const SealCheck good = check_seal(*keys_, pod_, "n1");
  EXPECT_EQ(good.result, Result::good);
  EXPECT_TRUE(good.dialect_good);
  EXPECT_EQ(good.purpose, dialect::Purpose::bound);
  EXPECT_EQ(good.unix_nanos, 1'790'000'000'000'000'000);
  Keyring verifies_alone = *keys_;
  verifies_alone.signs.reset();
  EXPECT_EQ(check_seal(verifies_alone, pod_, "n1").result, Result::good);
}

TEST_F(SealTest, ForAnotherPodOrNodeItIsNot) {
  EXPECT_EQ(check("n2"), Result::bad);
  EXPECT_EQ(check(""), Result::bad);
  pod_.uid = "5f0c1c9e-0002";
  EXPECT_EQ(check(), Result::bad);
}

// Changes every byte of every part to random values from a seed.
TEST_F(SealTest, AnyChangedByteIsNoticed) {
  base::Rng rng(7);
  for (const std::string& key : {gpus_, signature_}) {
    const std::string text = pod_.annotations.at(key);
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ static_cast<char>(1 + rng.below(255)));
      pod_.annotations[key] = other;
      const Result result = check();
      EXPECT_TRUE(result == Result::bad || result == Result::unknown) << key << " at " << i;
    }
    pod_.annotations[key] = text + "x";
    EXPECT_EQ(check(), Result::bad);
    pod_.annotations[key] = text.substr(0, text.size() - 1);
    EXPECT_EQ(check(), Result::bad);
    pod_.annotations[key] = text;
  }
  const std::string uid = pod_.uid;
  for (std::size_t i = 0; i < uid.size(); ++i) {
    pod_.uid = uid;
    pod_.uid[i] = static_cast<char>(pod_.uid[i] ^ 1);
    EXPECT_EQ(check(), Result::bad);
  }
  pod_.uid = uid;
  EXPECT_EQ(check(), Result::good);
}

TEST_F(SealTest, WhatTheDialectSaysIsSealedApart) {
  for (const char* key : {"tencent.com/predicate-node", "tencent.com/predicate-gpu-idx-0",
                          "tencent.com/predicate-time", "tencent.com/predicate-gpu-idx-1"}) {
    const auto before = pod_.annotations;
    pod_.annotations[key] += "2";
    const SealCheck result = check_seal(*keys_, pod_, "n1");
    EXPECT_EQ(result.result, Result::good) << key;
    EXPECT_FALSE(result.dialect_good) << key;
    pod_.annotations = before;
  }
  pod_.annotations["tencent.com/gpu-assigned"] = "true";
  EXPECT_TRUE(check_seal(*keys_, pod_, "n1").dialect_good) << "its agent writes that";
}

TEST_F(SealTest, WithoutOneOrWithAnothersKeyItIsTold) {
  EXPECT_EQ(check_seal(*testing::keys_from_seed("another"), pod_, "n1").result, Result::unknown);
  pod_.annotations.erase(gpus_);
  EXPECT_EQ(check(), Result::bad);
  pod_.annotations.erase(signature_);
  EXPECT_EQ(check(), Result::none);
}

TEST_F(SealTest, AnAnswerWithoutCardsIsNotSigned) {
  dialect::Annotations answer{{"tencent.com/predicate-node", "n1"}};
  seal(*keys_, {.object = pod_, .node = "n1"}, answer);
  EXPECT_FALSE(answer.contains(signature_));
}

// A hold by number names a node and no card.
TEST_F(SealTest, TheNodeOfAHoldByNumberIsSigned) {
  const std::string key(dialect::kPreAllocatedNodeAnnotation);
  dialect::PodObject pod;
  pod.uid = "5f0c1c9e-0002";
  dialect::Annotations answer{{key, "n1"}};
  seal(*keys_, {.object = pod, .node = "n1", .purpose = dialect::Purpose::pre_allocation}, answer);
  pod.annotations = answer;
  EXPECT_EQ(check_seal(*keys_, pod, "n1").result, Result::good);
  EXPECT_EQ(check_seal(*keys_, pod, "n1").purpose, dialect::Purpose::pre_allocation);
  EXPECT_EQ(check_seal(*keys_, pod, "n2").result, Result::bad);
  dialect::PodObject other = pod;
  other.uid = "5f0c1c9e-0003";
  EXPECT_EQ(check_seal(*keys_, other, "n1").result, Result::bad) << "copied to another pod";
  dialect::PodObject more = pod;
  more.annotations[gpus_] = R"({"version":1,"node":"n1"})";
  EXPECT_EQ(check_seal(*keys_, more, "n1").result, Result::bad) << "it named no card";
  pod.annotations.erase(key);
  EXPECT_EQ(check_seal(*keys_, pod, "n1").result, Result::bad);
}

TEST_F(SealTest, AWithdrawalIsOfOnePodAndStandsForNoCards) {
  dialect::PodObject pod;
  pod.uid = "5f0c1c9e-0002";
  EXPECT_FALSE(withdrawn_at(*keys_, pod));
  pod.annotations[signature_] = withdrawal(*keys_, {.uid = pod.uid, .unix_nanos = 17});
  EXPECT_EQ(withdrawn_at(*keys_, pod), 17);
  EXPECT_EQ(check_seal(*keys_, pod, "n1").result, Result::bad);
  EXPECT_EQ(withdrawn_at(*testing::keys_from_seed("another"), pod), std::nullopt);
  EXPECT_EQ(withdrawn_at(*keys_, pod_), std::nullopt) << "that is no withdrawal";
  dialect::PodObject other = pod;
  other.uid = "5f0c1c9e-0003";
  EXPECT_EQ(withdrawn_at(*keys_, other), std::nullopt) << "copied to another pod";
  std::string& text = pod.annotations[signature_];
  text.replace(text.find(":17:"), 4, ":18:");
  EXPECT_EQ(withdrawn_at(*keys_, pod), std::nullopt);
}

// Prints the cost; there is no limit, because machines differ.
TEST_F(SealTest, Cost) {
  constexpr int kTimes = 500;
  const auto per_call = [](auto&& call) {
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    return took.count() / kTimes;
  };
  dialect::Annotations answer{{gpus_, pod_.annotations.at(gpus_)}};
  const double sign =
      per_call([&] { seal(*keys_, {.object = pod_, .node = "n1", .unix_nanos = 1}, answer); });
  int good = 0;
  const double verify = per_call([&] { good += check() == Result::good ? 1 : 0; });
  EXPECT_EQ(good, kTimes);
  std::printf("signing takes %.0f us, verifying %.0f us\n", sign, verify);
}

}  // namespace
}  // namespace stowage::kube
