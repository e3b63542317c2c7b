// What the roster believes of what pods say that we have written.
#include <gtest/gtest.h>

#include "scheduler/testing/roster_proof_fixture.h"

namespace stowage::scheduler::testing {
namespace {

using dialect::Purpose;

TEST_F(RosterProofTest, WhatIsSignedCountsAfterARestart) {
  EXPECT_EQ(list({bound("a", Purpose::bound), bound("b", Purpose::promise)}),
            "a has cards;b has cards;");
  EXPECT_EQ(forged(), "");
}

TEST_F(RosterProofTest, AnEditedAnnotationDoesNotCountAfterARestart) {
  auto pod = bound("a", Purpose::bound);
  EXPECT_EQ(list({pod}), "a has cards;");
  edit(pod);
  EXPECT_EQ(list({pod}), "a unknown;") << "the engine keeps what it knows";
  EXPECT_EQ(forged(), "") << "that is drift";
  restart();
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(forged(), "a;");
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(forged(), "") << "told once";
  EXPECT_EQ(list({bound("a", Purpose::bound)}), "a has cards;") << "the text was put back";
}

TEST_F(RosterProofTest, NeitherDoesOneOfAnotherPodOrNodeOrOneWithoutSignature) {
  auto copied = bound("b", Purpose::bound);
  copied.annotations = bound("a", Purpose::bound).annotations;
  EXPECT_EQ(list({copied}), "b unknown;");
  EXPECT_EQ(forged(), "b;");
  restart();
  auto moved = bound("c", Purpose::bound);
  moved.node = "n2";
  auto second = node_object();
  second.name = "n2";
  roster_->see_node(second);
  EXPECT_EQ(list({moved}), "c unknown;");
  restart();
  EXPECT_EQ(list({bound("d", std::nullopt)}), "d unknown;");
}

// What the dialect's scheduler would have written, an author may have edited as well.
TEST_F(RosterProofTest, WhereOursIsNotGoodTheWordsOfADialectsSchedulerAreNot) {
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

TEST_F(RosterProofTest, WhatOlderVersionsWroteCountsIfItIsOlder) {
  auto pod = bound("a", std::nullopt);
  pod.scheduled_since = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  restart();
  pod.scheduled_since = "";
  EXPECT_EQ(list({pod}), "a unknown;") << "made after that";
  restart();
  pod.created = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_EQ(forged(), "a;");
}

TEST_F(RosterProofTest, APromiseOfAnOlderVersionCountsThoughItIsBoundSince) {
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

TEST_F(RosterProofTest, BeforeSigningHasBegunWhatIsThereCounts) {
  auto before = std::make_shared<kube::Keyring>(*keys_);
  before->began_unix.reset();
  EXPECT_FALSE(roster_->use_keys(before));
  EXPECT_EQ(list({bound("a", std::nullopt), decided("b", std::nullopt)}), "a has cards;b held;");
  auto forged_one = bound("c", Purpose::bound);
  edit(forged_one);
  EXPECT_EQ(list({forged_one}), "c unknown;") << "a bad signature is worse than none";
}

TEST_F(RosterProofTest, AKeyThatIsNotKnownIsLookedForAndThenBelieved) {
  const kube::Keys fresh = kube::testing::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto pod = bound("a", Purpose::bound);
  keys_ = old;
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(unknown_keys_, 1);
  EXPECT_EQ(list({pod}), "a unknown;");
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(roster_->use_keys(both)) << "it has to be seen again";
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_FALSE(roster_->use_keys(both));
}

TEST_F(RosterProofTest, APodWithAnUnknownKeyIsNotRememberedLongerThanItLasts) {
  const kube::Keys old = std::exchange(keys_, kube::testing::keys_from_seed("rotated", kBegan));
  auto pod = decided("a", Purpose::promise);
  auto gone = decided("b", Purpose::promise);
  keys_ = old;
  EXPECT_EQ(list({pod, gone}), "");
  pod.annotations.clear();
  pod.resource_version = "2";
  EXPECT_EQ(list({pod}), "");
  EXPECT_FALSE(roster_->use_keys(std::make_shared<kube::Keyring>(*old)));
}

// kube-scheduler may ask about a pod that was not seen here yet, or is gone.
TEST_F(RosterProofTest, APodThatIsNotKnownMayHaveAnUnknownKey) {
  const kube::Keys old = std::exchange(keys_, kube::testing::keys_from_seed("rotated", kBegan));
  const auto pod = decided("a", Purpose::promise);
  keys_ = old;
  EXPECT_FALSE(roster_->signatures().believes_promise(pod));
  EXPECT_EQ(unknown_keys_, 1);
  EXPECT_TRUE(roster_->use_keys(std::make_shared<kube::Keyring>(*old)));
}

// Threads verify ahead of the loop, by the keys of the moment in which they were asked.
TEST_F(RosterProofTest, AKeyThatHasComeSinceTheSignatureWasLookedAtIsKnown) {
  const auto pod = bound("a", Purpose::bound);
  roster_->begin_pods();
  roster_->see_pod(pod, kube::SealCheck{.result = kube::SealCheck::Result::unknown});
  roster_->end_pods();
  EXPECT_EQ(events(), "a has cards;");
  EXPECT_EQ(unknown_keys_, 0);
}

TEST_F(RosterProofTest, WhatWeSealIsSigned) {
  dialect::PodObject pod = decided("a", std::nullopt);
  dialect::Annotations answer = pod.annotations;
  roster_->signatures().seal({.object = pod, .node = "n", .unix_nanos = 1}, answer);
  pod.annotations = answer;
  EXPECT_EQ(kube::check_seal(*keys_, pod, "n").result, kube::SealCheck::Result::good);
}

}  // namespace
}  // namespace stowage::scheduler::testing
