#include "scheduler/signatures.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::scheduler {
namespace {

using Proof = Signatures::Proof;
using dialect::Purpose;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegan = 1'000'000;  // of signing, in seconds since 1970
const core::NodeSpec kNode{.name = "n", .cards = {{.id = "n/0", .index = 0}}};

dialect::PodObject decided(const kube::Keys& keys, std::optional<Purpose> purpose) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = pod.uid = "p";
  pod.created = "1970-01-12T13:48:00Z";  // after kBegan
  dialect::ContainerObject container{.name = "main"};
  container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
  container.requests = container.limits;
  pod.containers = {container};
  const std::int64_t at = (kBegan + 100) * kSecond;
  dialect::Answer answer = dialect::answer({.object = pod,
                                            .pod = *dialect::to_spec(pod, {}),
                                            .node = kNode,
                                            .cards = {.containers = {{{.card = 0, .milli = 1000}}}},
                                            .unix_nanos = at});
  if (purpose) {
    kube::seal(*keys, {.object = pod, .node = "n", .purpose = *purpose, .unix_nanos = at},
               answer.annotations);
  }
  pod.annotations = answer.annotations;
  return pod;
}

class SignaturesTest : public ::testing::Test {
 protected:
  SignaturesTest() {
    EXPECT_TRUE(signatures_.use_keys(keys_).empty());
    signatures_.on_unknown_key([this] { ++unknown_; });
  }
  Proof proof(dialect::PodObject pod, const char* since = "1970-01-12T13:48:00Z") {
    pod.node = "n";
    pod.scheduled_since = since;
    return signatures_.proof_of(pod, std::nullopt);
  }

  kube::Keys keys_ = kube::testing::keys_from_seed("test", kBegan);
  kube::Keys others_ = kube::testing::keys_from_seed("others", kBegan);
  Signatures signatures_;
  int unknown_ = 0;
};

TEST_F(SignaturesTest, WhatWeSignedIsOurs) {
  EXPECT_EQ(proof(decided(keys_, Purpose::bound)), Proof::good);
  EXPECT_EQ(proof(decided(keys_, std::nullopt)), Proof::bad);
  EXPECT_EQ(proof(decided(keys_, std::nullopt), "1970-01-12T13:46:00Z"), Proof::too_old);
  auto moved = decided(keys_, Purpose::bound);
  moved.uid = "q";
  EXPECT_EQ(proof(moved), Proof::bad);
  EXPECT_EQ(unknown_, 0);
}

TEST_F(SignaturesTest, APodWithAnUnknownKeyIsJudgedAgainByOtherKeys) {
  const auto pod = decided(others_, Purpose::bound);
  EXPECT_EQ(proof(pod), Proof::bad);
  EXPECT_EQ(unknown_, 1);
  EXPECT_TRUE(signatures_.has_unknown_key("p"));
  EXPECT_EQ(signatures_.use_keys(others_), std::set<std::string>{"p"});
  EXPECT_FALSE(signatures_.has_unknown_key("p"));
  EXPECT_EQ(proof(pod), Proof::good);
  EXPECT_TRUE(signatures_.use_keys(keys_).empty());
}

TEST_F(SignaturesTest, APodThatGoesIsForgotten) {
  (void)proof(decided(others_, Purpose::bound));
  signatures_.forget("p");
  EXPECT_TRUE(signatures_.use_keys(others_).empty());
}

TEST_F(SignaturesTest, WhatWasCheckedAheadCountsUnlessTheKeyWasUnknown) {
  auto pod = decided(keys_, Purpose::bound);
  pod.node = "n";
  using Result = kube::SealCheck::Result;
  EXPECT_EQ(signatures_.proof_of(pod, kube::SealCheck{.result = Result::bad}), Proof::bad);
  EXPECT_EQ(signatures_.proof_of(pod, kube::SealCheck{.result = Result::unknown}), Proof::good);
}

TEST_F(SignaturesTest, WhosePreAllocationItIs) {
  using Origin = Signatures::Origin;
  EXPECT_EQ(signatures_.pre_allocation_origin(decided(keys_, Purpose::pre_allocation)).origin,
            Origin::ours);
  EXPECT_EQ(signatures_.pre_allocation_origin(decided(keys_, Purpose::bound)).origin, Origin::none);
  EXPECT_EQ(signatures_.pre_allocation_origin(decided(keys_, std::nullopt)).origin, Origin::none);
  EXPECT_EQ(signatures_.pre_allocation_origin(decided(others_, Purpose::pre_allocation)).origin,
            Origin::unknown);
  EXPECT_EQ(unknown_, 1);
  EXPECT_TRUE(signatures_.trusts_pre_allocation(decided(keys_, Purpose::pre_allocation)));
  EXPECT_FALSE(signatures_.trusts_pre_allocation(decided(others_, Purpose::pre_allocation)));
}

TEST_F(SignaturesTest, OfASignedPreAllocationNodeAndTimeAreThoseThatWereSigned) {
  auto pod = decided(keys_, Purpose::pre_allocation);
  EXPECT_FALSE(signatures_.pre_allocation_origin(pod).edited);
  pod.annotations["tencent.com/predicate-node"] = "m";
  pod.annotations["tencent.com/predicate-time"] = "1";
  const Signatures::PreAllocationCheck said = signatures_.pre_allocation_origin(pod);
  EXPECT_TRUE(said.counts());
  EXPECT_TRUE(said.edited);
  EXPECT_EQ(said.node, "n");
  EXPECT_EQ(said.made, (kBegan + 100) * kSecond);
  EXPECT_FALSE(signatures_.trusts_pre_allocation(pod)) << "not the node that it says";
}

TEST_F(SignaturesTest, AWriterFindsALaterDecision) {
  const std::int64_t at = (kBegan + 100) * kSecond;
  auto pod = decided(keys_, Purpose::pre_allocation);
  EXPECT_TRUE(signatures_.decided_after(pod, at - 1));
  EXPECT_FALSE(signatures_.decided_after(pod, at)) << "its own";
  EXPECT_FALSE(signatures_.decided_after(pod, at + 1));
  EXPECT_FALSE(signatures_.decided_after(decided(keys_, std::nullopt), at - 1))
      << "anyone can write an unsigned time";
  EXPECT_TRUE(signatures_.decided_after(decided(others_, Purpose::pre_allocation), at + 1))
      << "the key of the next leader may not be known yet";
  pod.annotations = signatures_.withdrawal({.uid = pod.uid, .unix_nanos = at + 10});
  EXPECT_TRUE(signatures_.decided_after(pod, at));
  EXPECT_FALSE(signatures_.decided_after(pod, at + 10));
  pod.annotations.clear();
  EXPECT_FALSE(signatures_.decided_after(pod, 0));
}

TEST_F(SignaturesTest, WithoutKeysNothingIsSigned) {
  (void)signatures_.use_keys(nullptr);
  EXPECT_EQ(signatures_.pre_allocation_origin(decided(keys_, std::nullopt)).origin,
            Signatures::Origin::unsigned_ours);
  dialect::Annotations answer = decided(keys_, std::nullopt).annotations;
  const dialect::Annotations before = answer;
  signatures_.seal({.object = {}, .node = "n", .unix_nanos = kSecond}, answer);
  EXPECT_EQ(answer, before);
}

TEST(PlacedAt, IsWhenItWasBoundElseWhenItWasMade) {
  dialect::PodObject pod;
  EXPECT_EQ(placed_at(pod), 1);
  pod.created = "1970-01-01T00:00:10Z";
  EXPECT_EQ(placed_at(pod), 10 * kSecond);
  pod.scheduled_since = "1970-01-01T00:00:20Z";
  EXPECT_EQ(placed_at(pod), 20 * kSecond);
}

}  // namespace
}  // namespace stowage::scheduler
