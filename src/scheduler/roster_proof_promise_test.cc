// What the roster believes of what unbound pods say that they were promised.
#include <gtest/gtest.h>

#include "kube/testing/fixed_keys.h"
#include "scheduler/testing/roster_proof_fixture.h"

namespace stowage::scheduler::testing {
namespace {

using dialect::Purpose;

TEST_F(RosterProofTest, OnlySignedPromisesAreHeld) {
  EXPECT_EQ(list({decided("a", Purpose::promise)}), "a held;");
  restart();
  EXPECT_EQ(list({decided("b", std::nullopt)}), "");
  EXPECT_EQ(forged(), "b;");
  auto again = decided("b", std::nullopt);
  again.resource_version = "2";
  EXPECT_EQ(list({again}), "");
  EXPECT_EQ(forged(), "") << "told once";
  EXPECT_EQ(list({decided("c", Purpose::bound)}), "") << "it was meant for another moment";
  auto taken = decided("f", Purpose::promise);
  taken.uid = "another";
  EXPECT_EQ(list({taken}), "");
}

// The pod's author may edit what its dialect says; its scheduler may bind it all the same.
TEST_F(RosterProofTest, ASignedPromiseIsHeldByOurOwnTextWhateverItsDialectSays) {
  auto added = decided("a", Purpose::promise);
  added.annotations["nvidia.com/predicate-x"] = "y";
  EXPECT_EQ(list({added}), "a held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_EQ(forged(), "a;") << "and it is told";
  auto other = decided("b", Purpose::promise);
  other.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(list({other}), "b held;");
  EXPECT_EQ(held_, "n n/2 10;");
  auto later = decided("c", Purpose::promise);
  later.annotations["tencent.com/predicate-time"] = std::to_string(kUnixNow);
  EXPECT_EQ(list({later}), "c held;");
  EXPECT_EQ(held_, "n n/2 10;") << "nor is it made to last";
  auto moved = decided("d", Purpose::promise);
  moved.annotations["tencent.com/predicate-node"] = "m";
  EXPECT_EQ(list({moved}), "d held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_FALSE(roster_->signatures().believes_promise(moved)) << "not that node";
  auto removed = decided("e", Purpose::promise);
  removed.annotations.erase("tencent.com/predicate-node");
  EXPECT_EQ(list({removed}), "e held;");
  EXPECT_EQ(held_, "n n/2 10;");
}

TEST_F(RosterProofTest, AStandbyKeepsAPromiseThatItHasProvedThoughItsAuthorRemovesIt) {
  const auto promised = decided("a", Purpose::promise);
  std::vector<dialect::PodObject> edits(4, promised);
  edits[0].annotations.erase("stowage.dev/signature");
  edit(edits[1]);
  edits[2].annotations.clear();
  edits[3] = decided("a", Purpose::promise, kUnixNow - 20 * kSecond);  // an older one
  edits[3].annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  for (auto& edited : edits) {
    restart();
    see({promised});
    edited.resource_version = "2";
    see({edited});
    EXPECT_EQ(list({edited}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;");
    roster_->stand_down();
    EXPECT_EQ(list({edited}), "a held;") << "and so does who leads again";
  }
}

TEST_F(RosterProofTest, APromiseIsNotKeptThatWeTookOffOrThatIsOver) {
  auto pod = decided("a", Purpose::promise);
  see({pod});
  auto taken_off = pod;
  taken_off.annotations = roster_->pre_allocations().withdrawal(pod);
  taken_off.resource_version = "2";
  EXPECT_EQ(list({taken_off}), "");
  roster_->stand_down();
  EXPECT_EQ(list({pod}), "") << "nor if its author puts it back";

  restart();
  see({pod});
  auto older = pod;
  older.annotations = {{"stowage.dev/signature",
                        kube::withdrawal(*keys_, {.uid = "a", .unix_nanos = kUnixNow / 2})}};
  EXPECT_EQ(list({older}), "a held;") << "one of an earlier promise says nothing of this one";
  roster_->pre_allocations().ended("a");
  roster_->stand_down();
  EXPECT_EQ(list({older}), "");

  restart();
  see({pod});
  roster_->pre_allocations().asked_again("a");
  auto bare = pod;
  bare.annotations.clear();
  EXPECT_EQ(list({bare}), "");
}

TEST_F(RosterProofTest, ASignedPromiseIsHeldWhateverTheClockSays) {
  std::int64_t left = 0;
  const auto look = [&](const PreAllocations::Promised& promised) {
    left = promised.until.ns / kSecond;
  };
  roster_->pre_allocations().on_promise(look);
  EXPECT_EQ(list({decided("a", Purpose::promise, kUnixNow + 7200 * kSecond)}), "a held;");
  EXPECT_EQ(left, 660) << "it was made before now, by a clock that was ahead";
  restart();
  roster_->pre_allocations().on_promise(look);
  EXPECT_EQ(list({decided("b", Purpose::promise, kUnixNow - 7200 * kSecond)}), "b held;");
  EXPECT_EQ(left, 660) << "our clock may be the one that is ahead";
}

// The engine gives away what is free of a node when it is told of it, and the rest of the cards.
TEST_F(RosterProofTest, ASignedPromiseIsHeldWhileItsCardIsAway) {
  roster_->see_node(node_object("1"));
  (void)events();
  EXPECT_EQ(list({decided("a", Purpose::promise)}), "a held;");
  roster_->see_node(node_object("4"));
  EXPECT_EQ(events(), "") << "once";
  restart();
  roster_->lose_node("n");
  (void)events();
  EXPECT_EQ(list({decided("b", Purpose::promise)}), "b held;");
}

// Its agent goes by the indexes: it would give the pod a card that others may have.
TEST_F(RosterProofTest, APromiseWhoseIndexesMeanOtherCardsNowIsLookedUpAtOnce) {
  const auto left = [&](const std::vector<std::string>& ids, const dialect::PodObject& pod) {
    std::int64_t seconds = -1;
    restart();
    roster_->pre_allocations().on_promise(
        [&](const PreAllocations::Promised& promised) { seconds = promised.until.ns / kSecond; });
    roster_->see_node(node_with(ids));
    (void)events();
    EXPECT_EQ(list({pod}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;") << "until it is taken off";
    EXPECT_EQ(roster_->pre_allocations().outdated(pod), seconds == 0);
    return seconds;
  };
  const auto pod = decided("a", Purpose::promise);
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, pod), 660);
  EXPECT_EQ(left({"n/0", "n/2", "n/1", "n/3"}, pod), 0) << "another order";
  EXPECT_EQ(left({"n/0", "n/1"}, pod), 660) << "it is away, and nobody else has its index";
  auto edited = pod;
  edited.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, edited), 660) << "its author does not end it";
}

TEST_F(RosterProofTest, APromiseThatIsOlderThanSigningIsHeldWhileItLasts) {
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

TEST_F(RosterProofTest, APromiseByAKeyThatIsNotKnownIsHeldOnceItIs) {
  const kube::Keys fresh = kube::testing::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto promised = decided("a", Purpose::promise);
  auto edited = decided("b", Purpose::promise);
  edit(edited);
  keys_ = old;
  EXPECT_EQ(list({promised, edited}), "");
  EXPECT_EQ(unknown_keys_, 2);
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_NE(notices_[0].text.find("a key that is not known"), std::string::npos);
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(roster_->use_keys(both));
  EXPECT_EQ(list({promised, edited}), "a held;") << "of the same resource version";
  EXPECT_EQ(list({promised, edited}), "") << "once";
  EXPECT_FALSE(roster_->use_keys(std::make_shared<kube::Keyring>(*both)));
}

// A hold of a number of cards (mode count): nothing but a signature makes it count.
TEST_F(RosterProofTest, AHoldByNumberCountsOnlyIfItIsSigned) {
  const auto by_number = [&](const std::string& name, bool signs) {
    auto pod = decided(name, std::nullopt);
    pod.annotations = {{std::string(dialect::kPreAllocatedNodeAnnotation), "n"}};
    pod.created = kBefore;  // older than all signatures: for other promises that is an excuse
    if (signs) {
      kube::seal(*keys_,
                 {.object = pod, .node = "n", .purpose = Purpose::promise, .unix_nanos = kUnixNow},
                 pod.annotations);
    }
    return pod;
  };
  EXPECT_EQ(list({by_number("a", true)}), "a held;");
  EXPECT_EQ(forged(), "");
  restart();
  EXPECT_EQ(list({by_number("b", false)}), "");
  EXPECT_EQ(forged(), "b;");
  restart();
  auto elsewhere = by_number("c", true);
  elsewhere.annotations[std::string(dialect::kPreAllocatedNodeAnnotation)] = "m";
  EXPECT_EQ(list({elsewhere}), "");
  EXPECT_EQ(forged(), "c;");
}

}  // namespace
}  // namespace stowage::scheduler::testing
