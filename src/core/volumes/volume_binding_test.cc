// Claims that wait for their first consumer: which volume each gets, whether one can be
// provisioned, and what is reserved for pods that are being bound.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/volumes/test_tracker.h"
#include "core/volumes/volume_tracker.h"

namespace stowage::core {
namespace {

using Op = Requirement::Op;
using testing::claimant;
using testing::kRwo;
using testing::kRwop;
using testing::label_in;
using testing::on_node;
using testing::TestTracker;
using testing::volume;
using testing::waiting;

class Binding : public ::testing::Test, protected TestTracker {
 protected:
  struct Match {
    const char* name;
    std::function<void(Volume&, Claim&)> change;
    const char* plan;
  };
  // What a pod with the claim gets on "a" from the only volume.
  void expect(const Match& row) {
    Volume made = volume("v", 10);
    Claim claim = waiting("c", 5, "local");
    row.change(made, claim);
    tracker_.set(made);
    tracker_.set(claim);
    EXPECT_EQ(plan(claimant("p", {"c"}), "a"), row.plan) << row.name;
  }
};

TEST_F(Binding, AVolumeMustFitTheClaim) {
  const Match rows[] = {
      {"it fits", [](Volume&, Claim&) {}, "c=v"},
      {"just large enough", [](Volume& v, Claim& c) { v.bytes = c.bytes; }, "c=v"},
      {"too small", [](Volume& v, Claim& c) { v.bytes = c.bytes - 1; }, "-"},
      {"of another class", [](Volume& v, Claim&) { v.storage_class = "other"; }, "-"},
      {"not available", [](Volume& v, Claim&) { v.available = false; }, "-"},
      {"being deleted", [](Volume& v, Claim&) { v.deleting = true; }, "-"},
      {"a block device, and a file system is wanted", [](Volume& v, Claim&) { v.block = true; },
       "-"},
      {"a file system, and a block device is wanted", [](Volume&, Claim& c) { c.block = true; },
       "-"},
      {"both a block device", [](Volume& v, Claim& c) { v.block = c.block = true; }, "c=v"},
      {"one mode of two", [](Volume&, Claim& c) { c.modes = kRwo | kRwop; }, "-"},
      {"more modes than asked", [](Volume& v, Claim&) { v.modes = kRwo | kRwop; }, "c=v"},
      {"on another node", [](Volume& v, Claim&) { v = on_node(v, "b"); }, "-"},
      {"on this node", [](Volume& v, Claim&) { v = on_node(v, "a"); }, "c=v"},
      {"labels that the claim does not select",
       [](Volume&, Claim& c) {
         c.selector = LabelSelector{.all = {{"disk", Op::exists, {}}}};
       },
       "-"},
      {"labels that it selects",
       [](Volume& v, Claim& c) {
         v.labels["disk"] = "fast";
         c.selector = LabelSelector{.all = {{"disk", Op::in, {"fast"}}}};
       },
       "c=v"},
      {"provisioning for this node is under way, and nobody provisions",
       [](Volume&, Claim& c) { c.selected_node = "a"; }, "-"},
  };
  for (const auto& row : rows) expect(row);
}

TEST_F(Binding, AVolumeThatNamesAClaim) {
  const Match rows[] = {
      {"bound to another claim", [](Volume& v, Claim&) { v.claim = "ns/other"; }, "-"},
      {"promised to this claim", [](Volume& v, Claim&) { v.claim = "ns/c"; }, "c=v"},
      {"bound to this claim",
       [](Volume& v, Claim& c) {
         v.claim = "ns/c";
         v.claim_uid = c.uid;
         v.available = false;
       },
       "c=v"},
      {"bound to an earlier claim of this name",
       [](Volume& v, Claim&) {
         v.claim = "ns/c";
         v.claim_uid = "old";
       },
       "-"},
      {"promised, but too small",
       [](Volume& v, Claim&) {
         v.claim = "ns/c";
         v.bytes = 1;
       },
       "-"},
      {"promised, and neither modes nor labels are asked",
       [](Volume& v, Claim& c) {
         v.claim = "ns/c";
         v.modes = 0;
         c.selector = LabelSelector{.all = {{"disk", Op::exists, {}}}};
       },
       "c=v"},
      {"promised, but of another class",
       [](Volume& v, Claim&) {
         v.claim = "ns/c";
         v.storage_class = "made";
       },
       "-"},
  };
  for (const auto& row : rows) expect(row);
}

TEST_F(Binding, TheSmallestVolumeThatFitsIsTaken) {
  tracker_.set(waiting("c", 5, "local"));
  tracker_.set(volume("large", 20));
  tracker_.set(volume("small", 4));
  tracker_.set(volume("y", 8));
  tracker_.set(on_node(volume("x", 8), "a"));
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=x") << "equal sizes: by name";
  EXPECT_EQ(plan(claimant("p", {"c"}), "b"), "c=y");
  tracker_.set(on_node(volume("z", 7), "b"));
  EXPECT_EQ(plan(claimant("p", {"c"}), "b"), "c=z");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=x");
  tracker_.set(volume("x", 30));
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=y") << "x has grown";
  tracker_.drop(AuxKind::volume, "y");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=large");
}

TEST_F(Binding, APreBoundVolumeComesBeforeASmallerOne) {
  Volume pre_bound = on_node(volume("promised", 20), "a");
  pre_bound.claim = "ns/c";
  tracker_.set(waiting("c", 5, "local"));
  tracker_.set(volume("small", 5));
  tracker_.set(pre_bound);
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=promised");
  EXPECT_EQ(plan(claimant("p", {"c"}), "b"), "-") << "it is to have that one, which is elsewhere";
}

TEST_F(Binding, SmallClaimsChooseFirstAndNoVolumeIsTakenTwice) {
  tracker_.set(waiting("big", 8, "local"));
  tracker_.set(waiting("little", 2, "local"));
  tracker_.set(volume("v3", 3));
  tracker_.set(volume("v9", 9));
  EXPECT_EQ(plan(claimant("p", {"big", "little"}), "a"), "big=v9 little=v3");
  tracker_.drop(AuxKind::volume, "v3");
  EXPECT_EQ(plan(claimant("p", {"big", "little"}), "a"), "-") << "little takes what big needs";
  EXPECT_EQ(plan(claimant("p", {"big"}), "a"), "big=v9");
}

TEST_F(Binding, WhatFindsNoVolumeIsMade) {
  tracker_.set(waiting("old", 5, "made"));
  tracker_.set(waiting("new", 6, "made"));
  Volume left = volume("left", 6);
  left.storage_class = "made";
  tracker_.set(left);
  EXPECT_EQ(plan(claimant("p", {"new", "old"}), "a"), "new= old=left");
}

TEST_F(Binding, WhereAVolumeCanBeMade) {
  const StorageClass usual{.name = "made", .provisioner = "csi", .waits = true};
  struct Row {
    const char* name;
    std::function<void(StorageClass&, Claim&)> change;
    const char* verdict;
  };
  const Row rows[] = {
      {"anywhere", [](StorageClass&, Claim&) {}, "none"},
      {"nowhere, without a provisioner", [](StorageClass& s, Claim&) { s.provisioner = ""; },
       "volume_none"},
      {"nowhere, if volumes are made by hand",
       [](StorageClass& s, Claim&) { s.provisioner = "kubernetes.io/no-provisioner"; },
       "volume_none"},
      {"in an allowed topology",
       [](StorageClass& s, Claim&) {
         s.topologies = {label_in("host", {"b", "a"})};
       },
       "none"},
      {"outside of the allowed topologies",
       [](StorageClass& s, Claim&) { s.topologies = {label_in("host", {"b"})}; }, "volume_none"},
      {"one of two topologies",
       [](StorageClass& s, Claim&) {
         s.topologies = {label_in("host", {"b"}), label_in("host", {"a"})};
       },
       "none"},
      {"an empty topology is nowhere", [](StorageClass& s, Claim&) { s.topologies = {{}}; },
       "volume_none"},
      {"on the node that was selected", [](StorageClass&, Claim& c) { c.selected_node = "a"; },
       "none"},
      {"not on another than was selected", [](StorageClass&, Claim& c) { c.selected_node = "b"; },
       "volume_none"},
  };
  for (const auto& row : rows) {
    StorageClass storage_class = usual;
    Claim claim = waiting("c", 5, "made");
    row.change(storage_class, claim);
    tracker_.set(storage_class);
    tracker_.set(claim);
    EXPECT_EQ(check(claimant("p", {"c"}), "a"), row.verdict) << row.name;
  }
}

TEST_F(Binding, StorageThatADriverTellsOf) {
  struct Row {
    const char* name;
    std::function<void(StorageCapacity&)> change;
    const char* verdict;
  };
  const Row rows[] = {
      {"enough", [](StorageCapacity&) {}, "none"},
      {"just enough", [](StorageCapacity& s) { s.bytes = 5; }, "none"},
      {"too little", [](StorageCapacity& s) { s.bytes = 4; }, "volume_none"},
      {"enough, but not in one volume", [](StorageCapacity& s) { s.largest = 4; }, "volume_none"},
      {"the largest volume counts, not the sum",
       [](StorageCapacity& s) {
         s.bytes = 0;
         s.largest = 5;
       },
       "none"},
      {"of another class", [](StorageCapacity& s) { s.storage_class = "local"; }, "volume_none"},
      {"for another node",
       [](StorageCapacity& s) {
         s.nodes = LabelSelector{.all = {{"host", Op::in, {"b"}}}};
       },
       "volume_none"},
      {"for this node",
       [](StorageCapacity& s) {
         s.nodes = LabelSelector{.all = {{"host", Op::in, {"a"}}}};
       },
       "none"},
      {"for no node", [](StorageCapacity& s) { s.nodes.reset(); }, "volume_none"},
  };
  tracker_.set(waiting("c", 5, "made"));
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none") << "the driver is not known";
  tracker_.set(StorageDriver{.name = "csi", .tells_capacity = false});
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none") << "the driver does not tell";
  tracker_.set(StorageDriver{.name = "csi", .tells_capacity = true});
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "volume_none") << "it tells of nothing";
  for (const auto& row : rows) {
    StorageCapacity capacity{
        .name = "ns/s", .storage_class = "made", .nodes = LabelSelector{}, .bytes = 9};
    row.change(capacity);
    tracker_.set(capacity);
    EXPECT_EQ(check(claimant("p", {"c"}), "a"), row.verdict) << row.name;
  }
  tracker_.set(waiting("c", 0, "made"));
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none") << "a claim without a size needs no room";
  tracker_.set(waiting("c", 5, "made"));
  tracker_.drop(AuxKind::storage_driver, "csi");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none") << "the driver has gone";
}

// ---- pods that are being bound

class Reserved : public ::testing::Test, protected TestTracker {
 protected:
  Reserved() {
    tracker_.set(waiting("c", 5, "local"));
    tracker_.set(waiting("d", 5, "local"));
    tracker_.set(waiting("m", 5, "made"));
    tracker_.set(on_node(volume("v"), "a"));
  }
};

TEST_F(Reserved, AVolumeThatIsKeptForAClaimIsGivenToNoOther) {
  tracker_.reservations().reserve("q", {{.claim = "ns/d", .volume = "v"}}, "a");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "-");
  EXPECT_EQ(plan(claimant("q", {"d"}), "a"), "d=v") << "to the pod itself it is free";
  EXPECT_EQ(plan(claimant("q", {"c"}), "a"), "c=v") << "even for another of its claims";
  tracker_.reservations().release("q");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v");
  tracker_.reservations().release("q");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v") << "releasing it again changes nothing";
}

TEST_F(Reserved, APodWithTheSameClaimFollows) {
  tracker_.set(volume("another"));
  EXPECT_EQ(plan(claimant("p", {"c"}), "b"), "c=another");
  tracker_.reservations().reserve("q", {{.claim = "ns/c", .volume = "v"}}, "a");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v") << "the volume that q binds to the claim";
  EXPECT_EQ(plan(claimant("p", {"c"}), "b"), "-") << "which is not on b";
  EXPECT_EQ(plan(claimant("q", {"c"}), "b"), "c=another") << "q itself may think again";
}

TEST_F(Reserved, AVolumeThatAnotherClaimGotMeanwhileIsNotFollowed) {
  tracker_.set(volume("another"));
  tracker_.reservations().reserve("q", {{.claim = "ns/c", .volume = "v"}}, "a");
  Volume lost = on_node(volume("v"), "a");
  lost.claim = "ns/stranger";
  lost.claim_uid = "s";
  tracker_.set(lost);
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=another");
}

TEST_F(Reserved, OfTwoStepsForOneClaimTheLastCounts) {
  tracker_.set(on_node(volume("w"), "a"));
  tracker_.reservations().reserve(
      "q", {{.claim = "ns/d", .volume = "v"}, {.claim = "ns/d", .volume = "w"}}, "a");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v");
}

TEST_F(Reserved, AClaimThatIsBeingMadeIsMadeOnOneNode) {
  tracker_.reservations().reserve("q", {{.claim = "ns/m", .volume = {}}}, "a");
  EXPECT_EQ(plan(claimant("p", {"m"}), "a"), "m=");
  EXPECT_EQ(check(claimant("p", {"m"}), "b"), "volume_none");
  EXPECT_EQ(plan(claimant("q", {"m"}), "b"), "m=");
  tracker_.reservations().release("q");
  EXPECT_EQ(plan(claimant("p", {"m"}), "b"), "m=");
}

TEST_F(Reserved, ReservingAgainReplaces) {
  tracker_.reservations().reserve(
      "q", {{.claim = "ns/d", .volume = "v"}, {.claim = "ns/m", .volume = {}}}, "a");
  tracker_.reservations().reserve("q", {{.claim = "ns/m", .volume = {}}}, "b");
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v");
  EXPECT_EQ(check(claimant("p", {"m"}), "a"), "volume_none");
  tracker_.reservations().reserve("q", {}, "b");
  EXPECT_EQ(check(claimant("p", {"m"}), "a"), "none");
}

TEST_F(Reserved, ItEndsWhenTheVolumeIsSeenBound) {
  Volume taken = on_node(volume("v"), "a");
  tracker_.reservations().reserve("q", {{.claim = "ns/d", .volume = "v"}}, "a");
  tracker_.set(taken);
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "-") << "not bound yet";
  taken.claim = "ns/d";
  taken.claim_uid = "d";
  tracker_.set(taken);
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "-") << "bound, but not to this claim";
  tracker_.set(on_node(volume("v"), "a"));
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v") << "free again, and nobody keeps it";
}

TEST_F(Reserved, ItEndsWhenTheClaimIsSeenBound) {
  tracker_.reservations().reserve(
      "q", {{.claim = "ns/d", .volume = "v"}, {.claim = "ns/m", .volume = {}}}, "a");
  Claim made = waiting("m", 5, "made");
  made.selected_node = "a";
  tracker_.set(made);
  EXPECT_EQ(check(claimant("p", {"m"}), "b"), "volume_none") << "now the API says so";
  made.selected_node.clear();
  tracker_.set(made);
  EXPECT_EQ(check(claimant("p", {"m"}), "b"), "none") << "provisioning failed, and was taken back";
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "-") << "the other volume is still kept";
  Claim done = waiting("d", 5, "local");
  done.volume = "v";
  done.bound = true;
  tracker_.set(done);
  EXPECT_EQ(plan(claimant("p", {"c"}), "a"), "c=v");
}

}  // namespace
}  // namespace stowage::core
