// Which annotations under our name the cluster cache trusts.
#include <gtest/gtest.h>

#include "scheduler/testing/cluster_cache_proof_fixture.h"

namespace stowage::scheduler::testing {
namespace {

using dialect::Purpose;

TEST_F(ClusterCacheProofTest, WhatIsSignedCountsAfterARestart) {
  EXPECT_EQ(list({bound("a", Purpose::bound), bound("b", Purpose::pre_allocation)}),
            "a has cards;b has cards;");
  EXPECT_EQ(untrusted(), "");
}

TEST_F(ClusterCacheProofTest, AnEditedAnnotationDoesNotCountAfterARestart) {
  auto pod = bound("a", Purpose::bound);
  EXPECT_EQ(list({pod}), "a has cards;");
  edit(pod);
  EXPECT_EQ(list({pod}), "a unknown;") << "the engine keeps what it knows";
  EXPECT_EQ(untrusted(), "") << "that is mismatch";
  restart();
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(untrusted(), "a;");
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(untrusted(), "") << "told once";
  EXPECT_EQ(list({bound("a", Purpose::bound)}), "a has cards;") << "the text was put back";
}

TEST_F(ClusterCacheProofTest, NeitherDoesOneOfAnotherPodOrNodeOrOneWithoutSignature) {
  auto copied = bound("b", Purpose::bound);
  copied.annotations = bound("a", Purpose::bound).annotations;
  EXPECT_EQ(list({copied}), "b unknown;");
  EXPECT_EQ(untrusted(), "b;");
  restart();
  auto moved = bound("c", Purpose::bound);
  moved.node = "n2";
  auto second = node_with_gpus();
  second.name = "n2";
  cluster_cache_->upsert_node(second);
  EXPECT_EQ(list({moved}), "c unknown;");
  restart();
  EXPECT_EQ(list({bound("d", std::nullopt)}), "d unknown;");
}

// The author may also have edited what the scheduler of the dialect writes.
TEST_F(ClusterCacheProofTest, WhereOursIsNotGoodTheWordsOfADialectsSchedulerAreNot) {
  auto pod = bound("a", Purpose::bound);
  pod.annotations["stowage.dev/gpus"] = "garbage";
  EXPECT_EQ(list({pod}), "a unknown;");
  restart();
  pod.annotations.erase("stowage.dev/gpus");
  pod.annotations.erase("stowage.dev/signature");
  pod.scheduler = "stowage";
  EXPECT_EQ(list({pod}), "a unknown;") << "we alone place it, and sign what we write";
  restart();
  pod.scheduler = "another";
  EXPECT_EQ(list({pod}), "a has cards;") << "its agent obeys what that one wrote";
}

TEST_F(ClusterCacheProofTest, WhatOlderVersionsWroteCountsIfItIsOlder) {
  auto pod = bound("a", std::nullopt);
  pod.scheduled_since = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  restart();
  pod.scheduled_since = "";
  EXPECT_EQ(list({pod}), "a unknown;") << "made after that";
  restart();
  pod.created = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_EQ(untrusted(), "a;");
}

TEST_F(ClusterCacheProofTest, APreAllocationOfAnOlderVersionCountsThoughItIsBoundSince) {
  auto pod = decided("a", std::nullopt, (kBegan - 20) * kSecond);
  pod.created = kBefore;
  pod.node = "n";
  pod.scheduled_since = "1970-01-12T13:56:00Z";  // 560 seconds after signing began
  EXPECT_EQ(list({pod}), "a has cards;");
  restart();
  pod.scheduled_since = "1970-01-12T13:58:00Z";
  EXPECT_EQ(list({pod}), "a unknown;") << "no promise lasts so long";
  restart();
  pod = decided("a", std::nullopt, (kBegan + 20) * kSecond);
  pod.created = kBefore;
  pod.node = "n";
  pod.scheduled_since = kAfter;
  EXPECT_EQ(list({pod}), "a unknown;");
}

TEST_F(ClusterCacheProofTest, BeforeSigningHasBegunWhatIsThereCounts) {
  auto before = std::make_shared<kube::Keyring>(*keys_);
  before->began_unix.reset();
  EXPECT_FALSE(cluster_cache_->use_keys(before));
  EXPECT_EQ(list({bound("a", std::nullopt), decided("b", std::nullopt)}), "a has cards;b held;");
  auto untrusted_one = bound("c", Purpose::bound);
  edit(untrusted_one);
  EXPECT_EQ(list({untrusted_one}), "c unknown;") << "a bad signature is worse than none";
}

TEST_F(ClusterCacheProofTest, AKeyThatIsNotKnownIsLookedForAndThenBelieved) {
  const kube::Keys fresh = kube::testing::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto pod = bound("a", Purpose::bound);
  keys_ = old;
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(unknown_keys_, 1);
  EXPECT_EQ(list({pod}), "a unknown;");
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(cluster_cache_->use_keys(both)) << "it has to be seen again";
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_FALSE(cluster_cache_->use_keys(both));
}

TEST_F(ClusterCacheProofTest, APodWithAnUnknownKeyIsNotRememberedLongerThanItLasts) {
  const kube::Keys old = std::exchange(keys_, kube::testing::keys_from_seed("rotated", kBegan));
  auto pod = decided("a", Purpose::pre_allocation);
  auto gone = decided("b", Purpose::pre_allocation);
  keys_ = old;
  EXPECT_EQ(list({pod, gone}), "");
  pod.annotations.clear();
  pod.resource_version = "2";
  EXPECT_EQ(list({pod}), "");
  EXPECT_FALSE(cluster_cache_->use_keys(std::make_shared<kube::Keyring>(*old)));
}

// kube-scheduler may ask about a pod that was not seen here yet, or that is deleted.
TEST_F(ClusterCacheProofTest, APodThatIsNotKnownMayHaveAnUnknownKey) {
  const kube::Keys old = std::exchange(keys_, kube::testing::keys_from_seed("rotated", kBegan));
  const auto pod = decided("a", Purpose::pre_allocation);
  keys_ = old;
  EXPECT_FALSE(cluster_cache_->signatures().trusts_pre_allocation(pod));
  EXPECT_EQ(unknown_keys_, 1);
  EXPECT_TRUE(cluster_cache_->use_keys(std::make_shared<kube::Keyring>(*old)));
}

// Threads verify ahead of the loop, with the keys that are known when they start.
TEST_F(ClusterCacheProofTest, AKeyThatHasComeSinceTheSignatureWasLookedAtIsKnown) {
  const auto pod = bound("a", Purpose::bound);
  cluster_cache_->begin_pods();
  cluster_cache_->upsert_pod(pod, kube::SealCheck{.result = kube::SealCheck::Result::unknown});
  cluster_cache_->end_pods();
  EXPECT_EQ(events(), "a has cards;");
  EXPECT_EQ(unknown_keys_, 0);
}

TEST_F(ClusterCacheProofTest, WhatWeSealIsSigned) {
  dialect::PodObject pod = decided("a", std::nullopt);
  dialect::Annotations answer = pod.annotations;
  cluster_cache_->signatures().seal({.object = pod, .node = "n", .unix_nanos = 1}, answer);
  pod.annotations = answer;
  EXPECT_EQ(kube::check_seal(*keys_, pod, "n").result, kube::SealCheck::Result::good);
}

}  // namespace
}  // namespace stowage::scheduler::testing
