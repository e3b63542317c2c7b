// Which pre-allocations on unbound pods the cluster cache trusts.
#include <gtest/gtest.h>

#include "kube/testing/fixed_keys.h"
#include "scheduler/testing/cluster_cache_proof_fixture.h"

namespace stowage::scheduler::testing {
namespace {

using dialect::Purpose;

TEST_F(ClusterCacheProofTest, OnlySignedPreAllocationsAreHeld) {
  EXPECT_EQ(list({decided("a", Purpose::pre_allocation)}), "a held;");
  restart();
  EXPECT_EQ(list({decided("b", std::nullopt)}), "");
  EXPECT_EQ(untrusted(), "b;");
  auto again = decided("b", std::nullopt);
  again.resource_version = "2";
  EXPECT_EQ(list({again}), "");
  EXPECT_EQ(untrusted(), "") << "told once";
  EXPECT_EQ(list({decided("c", Purpose::bound)}), "") << "it was meant for another moment";
  auto taken = decided("f", Purpose::pre_allocation);
  taken.uid = "another";
  EXPECT_EQ(list({taken}), "");
}

// The author of the pod may edit the annotations of its dialect; its scheduler may still bind it.
TEST_F(ClusterCacheProofTest, ASignedPreAllocationIsHeldByOurOwnTextWhateverItsDialectSays) {
  auto added = decided("a", Purpose::pre_allocation);
  added.annotations["nvidia.com/predicate-x"] = "y";
  EXPECT_EQ(list({added}), "a held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_EQ(untrusted(), "a;") << "and it is told";
  auto other = decided("b", Purpose::pre_allocation);
  other.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(list({other}), "b held;");
  EXPECT_EQ(held_, "n n/2 10;");
  auto later = decided("c", Purpose::pre_allocation);
  later.annotations["tencent.com/predicate-time"] = std::to_string(kUnixNow);
  EXPECT_EQ(list({later}), "c held;");
  EXPECT_EQ(held_, "n n/2 10;") << "nor is it made to last";
  auto moved = decided("d", Purpose::pre_allocation);
  moved.annotations["tencent.com/predicate-node"] = "m";
  EXPECT_EQ(list({moved}), "d held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_FALSE(cluster_cache_->signatures().trusts_pre_allocation(moved)) << "not that node";
  auto removed = decided("e", Purpose::pre_allocation);
  removed.annotations.erase("tencent.com/predicate-node");
  EXPECT_EQ(list({removed}), "e held;");
  EXPECT_EQ(held_, "n n/2 10;");
}

TEST_F(ClusterCacheProofTest, AStandbyKeepsAPreAllocationThatItHasProvedThoughItsAuthorRemovesIt) {
  const auto pre_allocated = decided("a", Purpose::pre_allocation);
  std::vector<dialect::PodObject> edits(4, pre_allocated);
  edits[0].annotations.erase("stowage.dev/signature");
  edit(edits[1]);
  edits[2].annotations.clear();
  edits[3] = decided("a", Purpose::pre_allocation, kUnixNow - 20 * kSecond);  // an older one
  edits[3].annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  for (auto& edited : edits) {
    restart();
    see({pre_allocated});
    edited.resource_version = "2";
    see({edited});
    EXPECT_EQ(list({edited}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;");
    cluster_cache_->stand_down();
    EXPECT_EQ(list({edited}), "a held;") << "and so does who leads again";
  }
}

// The write succeeded, but its reply arrived after the lease was lost. The next leader answers
// kube-scheduler with a pre-allocation of its own, by which the pod is bound.
TEST_F(ClusterCacheProofTest, AWriteWhoseReplyCameAfterTheTermDoesNotHideThatOfTheNextLeader) {
  const auto first = decided("a", Purpose::pre_allocation, kUnixNow - 20 * kSecond);
  auto unanswered = first;
  unanswered.annotations.clear();
  EXPECT_EQ(list({unanswered}), "");
  cluster_cache_->stand_down();
  cluster_cache_->wrote("a", first.annotations);
  see({first});
  EXPECT_EQ(events(), "");
  auto next = bound("a", Purpose::pre_allocation);
  next.resource_version = "2";
  see({next});
  EXPECT_EQ(events(), "a has cards;");
  EXPECT_TRUE(notices_.empty()) << notices_.front().text;
  EXPECT_EQ(cluster_cache_->sizes().annotation_mismatched, 0U);
}

TEST_F(ClusterCacheProofTest, APreAllocationIsNotKeptThatWeTookOffOrThatIsOver) {
  auto pod = decided("a", Purpose::pre_allocation);
  see({pod});
  auto taken_off = pod;
  taken_off.annotations = cluster_cache_->pre_allocations().withdrawal(pod);
  taken_off.resource_version = "2";
  EXPECT_EQ(list({taken_off}), "");
  cluster_cache_->stand_down();
  EXPECT_EQ(list({pod}), "") << "nor if its author puts it back";

  restart();
  see({pod});
  auto older = pod;
  older.annotations = {{"stowage.dev/signature",
                        kube::withdrawal(*keys_, {.uid = "a", .unix_nanos = kUnixNow / 2})}};
  EXPECT_EQ(list({older}), "a held;") << "one of an earlier promise says nothing of this one";
  cluster_cache_->pre_allocations().ended("a");
  cluster_cache_->stand_down();
  EXPECT_EQ(list({older}), "");

  restart();
  see({pod});
  cluster_cache_->pre_allocations().asked_again("a");
  auto bare = pod;
  bare.annotations.clear();
  EXPECT_EQ(list({bare}), "");
}

TEST_F(ClusterCacheProofTest, ASignedPreAllocationIsHeldWhateverTheClockSays) {
  std::int64_t left = 0;
  const auto look = [&](const PreAllocations::Announced& pre_allocated) {
    left = pre_allocated.until.ns / kSecond;
  };
  cluster_cache_->pre_allocations().on_pre_allocation(look);
  EXPECT_EQ(list({decided("a", Purpose::pre_allocation, kUnixNow + 7200 * kSecond)}), "a held;");
  EXPECT_EQ(left, 660) << "it was made before now, by a clock that was ahead";
  restart();
  cluster_cache_->pre_allocations().on_pre_allocation(look);
  EXPECT_EQ(list({decided("b", Purpose::pre_allocation, kUnixNow - 7200 * kSecond)}), "b held;");
  EXPECT_EQ(left, 660) << "our clock may be the one that is ahead";
}

// The engine gets the hold although its node or card is missing: it holds the card once it is back.
TEST_F(ClusterCacheProofTest, ASignedPreAllocationIsHeldWhileItsCardIsAway) {
  cluster_cache_->upsert_node(node_with_gpus("1"));
  (void)events();
  EXPECT_EQ(list({decided("a", Purpose::pre_allocation)}), "a held;");
  cluster_cache_->upsert_node(node_with_gpus("4"));
  EXPECT_EQ(events(), "") << "once";
  restart();
  cluster_cache_->remove_node("n");
  (void)events();
  EXPECT_EQ(list({decided("b", Purpose::pre_allocation)}), "b held;");
}

// Its agent uses the indexes: it would give the pod a card that other pods may have.
TEST_F(ClusterCacheProofTest, APreAllocationWhoseIndexesMeanOtherCardsNowIsLookedUpAtOnce) {
  const auto left = [&](const std::vector<std::string>& ids, const dialect::PodObject& pod) {
    std::int64_t seconds = -1;
    restart();
    cluster_cache_->pre_allocations().on_pre_allocation(
        [&](const PreAllocations::Announced& pre_allocated) {
          seconds = pre_allocated.until.ns / kSecond;
        });
    cluster_cache_->upsert_node(node_with(ids));
    (void)events();
    EXPECT_EQ(list({pod}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;") << "until it is taken off";
    EXPECT_EQ(cluster_cache_->pre_allocations().outdated(pod), seconds == 0);
    return seconds;
  };
  const auto pod = decided("a", Purpose::pre_allocation);
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, pod), 660);
  EXPECT_EQ(left({"n/0", "n/2", "n/1", "n/3"}, pod), 0) << "another order";
  EXPECT_EQ(left({"n/0", "n/1"}, pod), 660) << "it is away, and nobody else has its index";
  auto edited = pod;
  edited.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, edited), 660) << "its author does not end it";
}

TEST_F(ClusterCacheProofTest, APreAllocationThatIsOlderThanSigningIsHeldWhileItLasts) {
  now_ = (kBegan + 5) * kSecond;
  auto pod = decided("a", std::nullopt, (kBegan - 5) * kSecond);
  EXPECT_EQ(list({pod}), "") << "its author made the pod later";
  pod.created = kBefore;
  pod.resource_version = "2";
  EXPECT_EQ(list({pod}), "a held;");
  restart();
  auto later = decided("b", std::nullopt, (kBegan + 100) * kSecond);
  later.created = kBefore;
  now_ = (kBegan + 100) * kSecond;
  EXPECT_EQ(list({later}), "");
}

TEST_F(ClusterCacheProofTest, APreAllocationByAKeyThatIsNotKnownIsHeldOnceItIs) {
  const kube::Keys fresh = kube::testing::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto pre_allocated = decided("a", Purpose::pre_allocation);
  auto edited = decided("b", Purpose::pre_allocation);
  edit(edited);
  keys_ = old;
  EXPECT_EQ(list({pre_allocated, edited}), "");
  EXPECT_EQ(unknown_keys_, 2);
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_NE(notices_[0].text.find("an unknown key"), std::string::npos);
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(cluster_cache_->use_keys(both));
  EXPECT_EQ(list({pre_allocated, edited}), "a held;") << "of the same resource version";
  EXPECT_EQ(list({pre_allocated, edited}), "") << "once";
  EXPECT_FALSE(cluster_cache_->use_keys(std::make_shared<kube::Keyring>(*both)));
}

// A hold of a number of cards (mode count) counts only if it is signed.
TEST_F(ClusterCacheProofTest, AHoldByNumberCountsOnlyIfItIsSigned) {
  const auto by_number = [&](const std::string& name, bool signs) {
    auto pod = decided(name, std::nullopt);
    pod.annotations = {{std::string(dialect::kPreAllocatedNodeAnnotation), "n"}};
    pod.created = kBefore;  // older than all signatures: other pre-allocations would count
    if (signs) {
      kube::seal(
          *keys_,
          {.object = pod, .node = "n", .purpose = Purpose::pre_allocation, .unix_nanos = kUnixNow},
          pod.annotations);
    }
    return pod;
  };
  EXPECT_EQ(list({by_number("a", true)}), "a held;");
  EXPECT_EQ(untrusted(), "");
  restart();
  EXPECT_EQ(list({by_number("b", false)}), "");
  EXPECT_EQ(untrusted(), "b;");
  restart();
  auto elsewhere = by_number("c", true);
  elsewhere.annotations[std::string(dialect::kPreAllocatedNodeAnnotation)] = "m";
  EXPECT_EQ(list({elsewhere}), "");
  EXPECT_EQ(untrusted(), "c;");
}

}  // namespace
}  // namespace stowage::scheduler::testing
