#include "dialect/decision.h"

#include <set>

#include <gtest/gtest.h>

#include "dialect/own_annotations.h"

namespace stowage::dialect {
namespace {

const std::string kDigest(44, 'A');
const std::string kSignature(88, 'B');
const std::string kText =
    "v1:0123456789abcdef:promise:1790000000000000001:" + kDigest + ":" + kSignature;

TEST(Decision, NoTwoHaveTheSameBytes) {
  const Decision decision{.uid = "ab", .node = "c", .unix_nanos = 12, .gpus = "g"};
  std::set<std::string> messages{signed_message(decision)};
  const auto differs = [&](auto change) {
    Decision other = decision;
    change(other);
    return messages.insert(signed_message(other)).second;
  };
  EXPECT_FALSE(differs([](Decision&) {}));
  EXPECT_TRUE(differs([](Decision& d) { d.purpose = Purpose::pre_allocation; }));
  EXPECT_TRUE(differs([](Decision& d) { d.uid = "a", d.node = "bc"; })) << "lengths count";
  EXPECT_TRUE(differs([](Decision& d) { d.node = "d"; }));
  EXPECT_TRUE(differs([](Decision& d) { d.unix_nanos = 1; }));
  EXPECT_TRUE(differs([](Decision& d) { d.gpus = ""; }));
  EXPECT_TRUE(differs([](Decision& d) { d.gpus = "", d.dialect_hash = "g"; }));
}

TEST(Decision, WhatASchedulerWroteIsTakenTogether) {
  const Annotations pod{{"tencent.com/predicate-node", "n"},
                        {"tencent.com/gpu-assigned", "true"},
                        {"nvidia.com/real-allocated", "x"},
                        {"mine", "x"}};
  const Annotations added{{"tencent.com/predicate-gpu-idx-0", "1"},
                          {std::string(kGpusAnnotation), "{}"}};
  const std::string both = dialect_message(pod, added);
  Annotations merged = pod;
  for (const auto& [key, text] : added) merged[key] = text;
  EXPECT_EQ(dialect_message(merged), both);
  merged["tencent.com/gpu-assigned"] = "false";
  merged["nvidia.com/real-allocated"] = "y";
  EXPECT_EQ(dialect_message(merged), both) << "the dialect's agent writes these";
  merged["tencent.com/predicate-gpu-idx-0"] = "2";
  EXPECT_NE(dialect_message(merged), both);
  merged["tencent.com/predicate-gpu-idx-0"] = "1";
  merged["tencent.com/predicate-gpu-idx-1"] = "1";
  EXPECT_NE(dialect_message(merged), both) << "nothing may be added";
}

TEST(Decision, SchedulerAnnotationsAreThoseOfTheTable) {
  for (const char* key :
       {"tencent.com/predicate-gpu-idx-3", "tencent.com/predicate-node",
        "nvidia.com/predicate-time", "nvidia.com/pre-allocated", "elasticgpu.io/assumed",
        "elasticgpu.io/container-main", "nano-gpu/assume", "nano-gpu/container-a"}) {
    EXPECT_TRUE(chosen_by_scheduler(key)) << key;
  }
  for (const char* key :
       {"nvidia.com/real-allocated", "tencent.com/gpu-assigned", "ai.centaurus.io/alnair-gpu-id",
        "stowage.dev/gpu-model", "predicate-node", ""}) {
    EXPECT_FALSE(chosen_by_scheduler(key)) << key;
  }
  Annotations all{{"stowage.dev/gpus", "a"},
                  {"stowage.dev/signature", "b"},
                  {"nano-gpu/assume", "c"},
                  {"nvidia.com/real-allocated", "d"}};
  erase_scheduler_words(all);
  EXPECT_EQ(all, (Annotations{{"nvidia.com/real-allocated", "d"}}));
}

TEST(Decision, ASignatureIsWrittenAndReadInOneWayOnly) {
  const auto read = parse_signature(kText);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key, "0123456789abcdef");
  EXPECT_EQ(read->purpose, Purpose::pre_allocation);
  EXPECT_EQ(read->unix_nanos, 1'790'000'000'000'000'001);
  EXPECT_EQ(to_text(*read), kText);
  const std::string rest = ":" + kDigest + ":" + kSignature;
  for (const std::string& text : {
           std::string(),
           std::string("v1"),
           std::string(":::::"),
           std::string(1'000'000, ':'),
           "v2" + kText.substr(2),
           kText + ":",
           kText + " ",
           kText.substr(0, kText.size() - 1),
           "v1:0123456789ABCDEF:promise:1" + rest,
           "v1:0123456789abcde:promise:1" + rest,
           "v1:0123456789abcdef:other:1" + rest,
           "v1:0123456789abcdef:promise:01" + rest,
           "v1:0123456789abcdef:promise:-1" + rest,
           "v1:0123456789abcdef:promise:+1" + rest,
           "v1:0123456789abcdef:promise:" + rest,
           "v1:0123456789abcdef:promise:99999999999999999999" + rest,
           "v1:0123456789abcdef:promise:1:" + std::string(44, '-') + ":" + kSignature,
       }) {
    EXPECT_FALSE(parse_signature(text)) << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace stowage::dialect
