#include "core/volumes/volume_tracker.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/volumes/test_tracker.h"

namespace stowage::core {
namespace {

using Op = Requirement::Op;
using testing::bound;
using testing::claimant;
using testing::csi;
using testing::kRwop;
using testing::label_in;
using testing::on_node;
using testing::pod_with;
using testing::TestTracker;
using testing::volume;
using testing::waiting;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kBetaRegion = "failure-domain.beta.kubernetes.io/region";

class Volumes : public ::testing::Test, protected TestTracker {};

TEST_F(Volumes, APodWithoutVolumesNeedsNothing) {
  const PodSpec plain = claimant("p");
  const auto needs = tracker_.look_up(plain);
  EXPECT_FALSE(needs.any());
  EXPECT_EQ(tracker_.filter().check(needs, node("a")), ReasonCode::none);
  EXPECT_TRUE(tracker_.filter().plan(needs, node("a")).empty());
}

// ---- claims that no node can help

TEST_F(Volumes, TroubleWithAClaim) {
  struct Row {
    const char* name;
    Claim claim;
    bool ephemeral;
    std::string trouble;
  };
  const auto with = [](Claim claim, auto change) {
    change(claim);
    return claim;
  };
  const Claim good = bound("c", "v");
  const std::string unbound = "pod has unbound immediate PersistentVolumeClaims";
  const Row rows[] = {
      {"a bound claim is no trouble", good, false, ""},
      {"one that waits is none", waiting("c", 1, "made"), false, ""},
      {"not there", bound("other", "v"), false, "persistentvolumeclaim \"c\" not found"},
      {"of another namespace", with(good, [](Claim& c) { c.name = "sn/c"; }), false,
       "persistentvolumeclaim \"c\" not found"},
      {"going away", with(good, [](Claim& c) { c.deleting = true; }), false,
       "persistentvolumeclaim \"c\" is being deleted"},
      {"lost", with(good, [](Claim& c) { c.lost = true; }), false,
       "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\""},
      {"lost comes before going away", with(good, [](Claim& c) { c.lost = c.deleting = true; }),
       false, "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\""},
      {"an ephemeral claim that is still to come", bound("other", "v"), true,
       "waiting for the ephemeral volume controller to create persistentvolumeclaim \"c\""},
      {"an ephemeral claim of nobody", good, true,
       "persistentvolumeclaim \"c\" was not created for this pod: delete it, or give the pod "
       "another name"},
      {"an ephemeral claim of another pod", with(good, [](Claim& c) { c.owner_uid = "q"; }), true,
       "persistentvolumeclaim \"c\" was not created for this pod: delete it, or give the pod "
       "another name"},
      {"an ephemeral claim of its own", with(good, [](Claim& c) { c.owner_uid = "p"; }), true, ""},
      {"unbound, of a class that does not wait", waiting("c", 1, "at-once"), false, unbound},
      {"unbound, of a class that is not there", waiting("c", 1, "nope"), false, unbound},
      {"unbound, without a class", waiting("c", 1, ""), false, unbound},
      {"of a class that waits, but it names its volume",
       with(waiting("c", 1, "local"), [](Claim& c) { c.volume = "v"; }), false, unbound},
      {"bound to a volume that is not there", bound("c", "w"), false,
       "persistentvolume \"w\" not found"},
  };
  for (const auto& row : rows) {
    tracker_.set(volume("v"));
    tracker_.set(row.claim);
    PodSpec spec = claimant("p");
    spec.constraints.claims = {{.name = "c", .ephemeral = row.ephemeral}};
    const auto needs = tracker_.look_up(spec);
    EXPECT_TRUE(needs.any()) << row.name;
    EXPECT_EQ(needs.trouble, row.trouble) << row.name;
    tracker_.drop(AuxKind::claim, row.claim.name);
  }
}

TEST_F(Volumes, AMissingClaimIsSaidBeforeOneThatIsGoingAway) {
  Claim going = bound("a", "v");
  going.deleting = true;
  tracker_.set(going);
  EXPECT_EQ(tracker_.look_up(claimant("p", {"a", "b"})).trouble,
            "persistentvolumeclaim \"b\" not found");
}

TEST_F(Volumes, ClaimsAreSortedIntoBoundAndWaiting) {
  Claim alone = bound("one", "v");
  alone.modes = kRwop;
  tracker_.set(alone);
  tracker_.set(waiting("two", 1, "made"));
  tracker_.set(volume("v"));
  const PodSpec spec = claimant("p", {"two", "one", "two"});
  const auto needs = tracker_.look_up(spec);
  ASSERT_EQ(needs.bound.size(), 1U);
  EXPECT_EQ(needs.bound[0]->name, "ns/one");
  ASSERT_EQ(needs.waiting.size(), 1U) << "a claim that is mounted twice is one claim";
  EXPECT_EQ(needs.waiting[0]->name, "ns/two");
  EXPECT_EQ(needs.exclusive, std::vector<std::string>{"ns/one"});
}

TEST_F(Volumes, DroppedObjectsAreRemoved) {
  tracker_.set(volume("v"));
  tracker_.set(bound("c", "v"));
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none");
  tracker_.drop(AuxKind::budget, "ns/c");
  tracker_.drop(AuxKind::name_space, "v");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none") << "another kind of thing";
  tracker_.drop(AuxKind::volume, "v");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "persistentvolume \"v\" not found");
  tracker_.drop(AuxKind::claim, "ns/c");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "persistentvolumeclaim \"c\" not found");
}

// ---- volumes in use

TEST_F(Volumes, AReadWriteOncePodClaimIsForOnePodInTheCluster) {
  Claim alone = bound("c", "v");
  alone.modes = kRwop;
  tracker_.set(volume("v"));
  tracker_.set(alone);
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none");
  tracker_.users().add_pod(claimant("q", {"c"}), "b");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "volume_in_use");
  EXPECT_EQ(check(claimant("p", {"c"}), "b"), "volume_in_use");
  EXPECT_EQ(check(claimant("q", {"c"}), "a"), "none") << "its own use does not stand in its way";
  tracker_.users().add_pod(claimant("q2", {"c"}), "b");
  tracker_.users().remove_pod("q2");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "volume_in_use") << "one of two has gone";
  EXPECT_EQ(check(claimant("q", {"c"}), "a"), "none");
  tracker_.users().remove_pod("q");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none");
}

TEST_F(Volumes, AnEphemeralUseDoesNotMakeAClaimInUse) {
  Claim alone = bound("c", "v");
  alone.modes = kRwop;
  alone.owner_uid = "q";
  tracker_.set(volume("v"));
  tracker_.set(alone);
  PodSpec owner = claimant("q");
  owner.constraints.claims = {{.name = "c", .ephemeral = true}};
  tracker_.users().add_pod(owner, "b");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none");
  tracker_.users().add_pod(claimant("p", {"c"}), "a");
  EXPECT_EQ(check(owner, "a"), "none");
}

TEST_F(Volumes, ADryRunLooksAwayFromPods) {
  Claim alone = bound("c", "v");
  alone.modes = kRwop;
  tracker_.set(volume("v"));
  tracker_.set(alone);
  PodSpec user = pod_with("q", {.kind = Disk::Kind::gce, .id = "d"});
  user.constraints.claims = {{.name = "c"}};
  tracker_.users().add_pod(user, "a");
  const PodSpec asker = claimant("p", {"c"});
  const auto needs = tracker_.look_up(asker);
  const VolumeFilter filter = tracker_.filter();
  EXPECT_EQ(filter.check(needs, node("a")), ReasonCode::volume_in_use);
  EXPECT_EQ(filter.check(needs, node("a"), {"q"}), ReasonCode::none);
  EXPECT_EQ(filter.check(needs, node("a"), {"another"}), ReasonCode::volume_in_use);
  const PodSpec disk_user = pod_with("p", user.constraints.disks[0]);
  EXPECT_EQ(filter.check(tracker_.look_up(disk_user), node("a"), {"q"}), ReasonCode::none);
  EXPECT_EQ(check(disk_user, "a"), "volume_in_use");
  EXPECT_EQ(filter.check(needs, node("a")), ReasonCode::volume_in_use);
}

TEST_F(Volumes, ManyPodsMayUseAnyOtherClaim) {
  tracker_.set(volume("v"));
  tracker_.set(bound("c", "v"));
  tracker_.users().add_pod(claimant("q", {"c"}), "a");
  EXPECT_EQ(check(claimant("p", {"c"}), "a"), "none");
}

TEST_F(Volumes, DisksThatAPodNames) {
  using Kind = Disk::Kind;
  struct Row {
    const char* name;
    Disk there;
    Disk wanted;
    const char* verdict;
  };
  const Disk gce{.kind = Kind::gce, .id = "d"};
  const Disk gce_read{.kind = Kind::gce, .id = "d", .read_only = true};
  const Disk aws_read{.kind = Kind::aws, .id = "d", .read_only = true};
  const Disk iscsi{.kind = Kind::iscsi, .id = "d"};
  const Disk iscsi_read{.kind = Kind::iscsi, .id = "d", .read_only = true};
  const Disk rbd{.kind = Kind::rbd, .id = "d", .monitors = {"m1", "m2"}};
  Disk rbd_read = rbd;
  rbd_read.read_only = true;
  const Row rows[] = {
      {"a disk written by two", gce, gce, "volume_in_use"},
      {"another disk", gce, {.kind = Kind::gce, .id = "e"}, "none"},
      {"a disk of another kind", gce, iscsi, "none"},
      {"written by one, read by the other", gce, gce_read, "volume_in_use"},
      {"read by one, written by the other", gce_read, gce, "volume_in_use"},
      {"read by both", gce_read, gce_read, "none"},
      {"aws: not even read by both", aws_read, aws_read, "volume_in_use"},
      {"aws: another one", aws_read, {.kind = Kind::aws, .id = "e"}, "none"},
      {"iscsi: written by one", iscsi, iscsi_read, "volume_in_use"},
      {"iscsi: read by both", iscsi_read, iscsi_read, "none"},
      {"rbd: a monitor in common",
       rbd,
       {.kind = Kind::rbd, .id = "d", .monitors = {"m2"}},
       "volume_in_use"},
      {"rbd: no monitor in common",
       rbd,
       {.kind = Kind::rbd, .id = "d", .monitors = {"m3"}},
       "none"},
      {"rbd: no monitors at all", rbd, {.kind = Kind::rbd, .id = "d"}, "none"},
      {"rbd: read by both", rbd_read, rbd_read, "none"},
      {"rbd: written by one", rbd_read, rbd, "volume_in_use"},
  };
  for (const auto& row : rows) {
    tracker_.users().add_pod(pod_with("q", row.there), "a");
    EXPECT_EQ(check(pod_with("p", row.wanted), "a"), row.verdict) << row.name;
    EXPECT_EQ(check(pod_with("p", row.wanted), "b"), "none") << row.name << ", on another node";
    EXPECT_EQ(check(pod_with("q", row.there), "a"), "none") << row.name << ", itself";
  }
  tracker_.users().add_pod(pod_with("q", gce), "b");
  EXPECT_EQ(check(pod_with("p", gce), "a"), "none") << "the newest word about a pod counts";
  tracker_.users().add_pod(claimant("q"), "b");
  EXPECT_EQ(check(pod_with("p", gce), "b"), "none") << "it has no disk any more";
}

// ---- volume limits of nodes

class Limits : public Volumes {
 protected:
  // The driver "csi" allows two volumes on a, and any number on b.
  Limits() {
    tracker_.set(NodeVolumeLimits{.node = "a", .most = {{"csi", 2}}});
    tracker_.set(NodeVolumeLimits{.node = "b", .most = {}});
    for (const std::string n : {"1", "2", "3"}) {
      tracker_.set(csi("v" + n, "csi"));
      tracker_.set(bound("c" + n, "v" + n));
    }
  }
};

TEST_F(Limits, VolumesOfThePodsAndThatOfTheNewOneAreCounted) {
  tracker_.users().add_pod(claimant("q1", {"c1"}), "a");
  EXPECT_EQ(check(claimant("p", {"c2"}), "a"), "none");
  EXPECT_EQ(check(claimant("p", {"c2", "c3"}), "a"), "volume_limit");
  tracker_.users().add_pod(claimant("q2", {"c2"}), "a");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit");
  EXPECT_EQ(check(claimant("p", {"c3"}), "b"), "none") << "b has no limit";
  EXPECT_EQ(check(claimant("p", {"c3"}), "c"), "none") << "nothing is known about c";
  EXPECT_EQ(check(claimant("p", {"c1"}), "a"), "none") << "what is there already is free";
  EXPECT_EQ(check(claimant("p", {"c1", "c3"}), "a"), "volume_limit");
  tracker_.users().remove_pod("q1");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "none");
}

TEST_F(Limits, OneVolumeThatManyPodsUseCountsOnce) {
  tracker_.users().add_pod(claimant("q1", {"c1"}), "a");
  tracker_.users().add_pod(claimant("q2", {"c1"}), "a");
  tracker_.users().add_pod(claimant("q2", {"c1"}), "a");
  EXPECT_EQ(check(claimant("p", {"c2"}), "a"), "none");
  tracker_.users().remove_pod("q1");
  tracker_.users().add_pod(claimant("q3", {"c2"}), "a");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit") << "c1 is still in use";
}

TEST_F(Limits, TwoVolumesWithOneHandleAreOne) {
  Volume twin = csi("v1", "csi");
  twin.name = "twin";
  tracker_.set(twin);
  tracker_.set(bound("c4", "twin"));
  tracker_.users().add_pod(claimant("q1", {"c1", "c2"}), "a");
  EXPECT_EQ(check(claimant("p", {"c4"}), "a"), "none");
}

TEST_F(Limits, OnlyDriversWithALimitCount) {
  tracker_.users().add_pod(claimant("q", {"c1", "c2"}), "a");
  tracker_.set(csi("v4", "another"));
  tracker_.set(bound("c4", "v4"));
  tracker_.set(volume("v5"));
  tracker_.set(bound("c5", "v5"));
  EXPECT_EQ(check(claimant("p", {"c4", "c5"}), "a"), "none");
  tracker_.set(NodeVolumeLimits{.node = "a", .most = {{"another", 0}}});
  EXPECT_EQ(check(claimant("p", {"c4"}), "a"), "volume_limit");
  tracker_.drop(AuxKind::node_volume_limits, "a");
  EXPECT_EQ(check(claimant("p", {"c4"}), "a"), "none");
}

TEST_F(Limits, AttachedVolumesCountRegardlessOfTheirUsers) {
  tracker_.set(Attachment{.name = "x1", .node = "a", .driver = "csi", .volume = "v1"});
  tracker_.set(Attachment{.name = "x2", .node = "a", .driver = "csi", .volume = "v2"});
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit");
  EXPECT_EQ(check(claimant("p", {"c2"}), "a"), "none") << "it is attached already";
  tracker_.users().add_pod(claimant("q", {"c1"}), "a");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit");
  tracker_.drop(AuxKind::attachment, "x1");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit") << "q still uses it";
  tracker_.set(Attachment{.name = "x2", .node = "b", .driver = "csi", .volume = "v2"});
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "none") << "it has moved to b";
}

TEST_F(Limits, AnAttachmentWithoutAVolumeOfADriverIsNotCounted) {
  tracker_.set(NodeVolumeLimits{.node = "a", .most = {{"csi", 1}}});
  tracker_.set(volume("plain"));
  tracker_.set(Attachment{.name = "x1", .node = "a", .driver = "csi", .volume = "plain"});
  tracker_.set(Attachment{.name = "x2", .node = "a", .driver = "csi", .volume = "later"});
  tracker_.set(Attachment{.name = "x3", .node = "a", .driver = "", .volume = "v2"});
  EXPECT_EQ(check(claimant("p", {"c1"}), "a"), "none");
  tracker_.set(csi("later", "csi"));
  EXPECT_EQ(check(claimant("p", {"c1"}), "a"), "volume_limit");
}

TEST_F(Limits, AVolumeIsCountedAsWhatItIsNow) {
  tracker_.users().add_pod(claimant("q", {"c1", "c2"}), "a");
  tracker_.set(csi("v2", "another"));
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "none") << "v2 is of another driver now";
  tracker_.set(csi("v2", "csi"));
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "volume_limit");
  tracker_.drop(AuxKind::volume, "v2");
  EXPECT_EQ(check(claimant("p", {"c3"}), "a"), "none") << "nothing is known about v2";
}

TEST_F(Limits, AVolumeThatIsStillToBeMadeCounts) {
  tracker_.set(waiting("w1", 1, "made"));
  tracker_.set(waiting("w2", 1, "made"));
  tracker_.users().add_pod(claimant("q", {"c1", "w1"}), "a");
  EXPECT_EQ(check(claimant("p", {"w2"}), "a"), "volume_limit");
  EXPECT_EQ(check(claimant("p", {"w1"}), "a"), "none") << "it is counted already";
  Claim made = bound("w1", "v1");
  made.storage_class = "made";
  tracker_.set(made);
  EXPECT_EQ(check(claimant("p", {"w2"}), "a"), "none") << "w1 turned out to be the volume of c1";
  tracker_.drop(AuxKind::volume, "v1");
  EXPECT_EQ(check(claimant("p", {"w2"}), "a"), "none") << "c1 has no driver without its volume";
  tracker_.set(waiting("c1", 1, "made"));
  EXPECT_EQ(check(claimant("p", {"w2"}), "a"), "volume_limit");
  tracker_.set(StorageClass{.name = "made", .provisioner = "another", .waits = true});
  EXPECT_EQ(check(claimant("p", {"w2"}), "a"), "none") << "the class has another driver now";
}

TEST_F(Limits, APodOnTheNodeIsNotCountedTwice) {
  tracker_.users().add_pod(claimant("p", {"c1", "c2"}), "a");
  EXPECT_EQ(check(claimant("p", {"c1", "c2"}), "a"), "none");
  tracker_.users().add_pod(claimant("q", {"c3"}), "a");
  EXPECT_EQ(check(claimant("p", {"c1", "c2"}), "a"), "volume_limit") << "as if it were new";
}

// ---- nodes that reach a bound volume

TEST_F(Volumes, NodeAffinityOfABoundVolume) {
  struct Row {
    const char* name;
    std::optional<std::vector<NodeTerm>> affinity;
    const char* verdict;
  };
  const NodeTerm by_name{.labels = {}, .fields = {{"metadata.name", Op::in, {"a"}}}};
  const Row rows[] = {
      {"none at all", {}, "none"},
      {"this node", {{label_in("host", {"a"})}}, "none"},
      {"another node", {{label_in("host", {"b"})}}, "volume_node"},
      {"one of two terms", {{label_in("host", {"b"}), label_in("host", {"a"})}}, "none"},
      {"no terms", {std::vector<NodeTerm>{}}, "volume_node"},
      {"an empty term", {{NodeTerm{}}}, "volume_node"},
      {"volumes do not know the names of nodes", {{by_name}}, "volume_node"},
  };
  for (const auto& row : rows) {
    Volume made = volume("v");
    made.affinity = row.affinity;
    tracker_.set(made);
    tracker_.set(bound("c", "v"));
    EXPECT_EQ(check(claimant("p", {"c"}), "a"), row.verdict) << row.name;
  }
}

TEST_F(Volumes, ZonesOfABoundVolume) {
  struct Row {
    const char* name;
    Labels volume;
    Labels node;
    const char* verdict;
  };
  const Row rows[] = {
      {"the same zone", {{kZone, "z1"}}, {{kZone, "z1"}}, "none"},
      {"another zone", {{kZone, "z1"}}, {{kZone, "z2"}}, "volume_node"},
      {"one of its zones", {{kZone, "z1__z2"}}, {{kZone, "z2"}}, "none"},
      {"none of its zones", {{kZone, "z1__z2"}}, {{kZone, "z1__z2"}}, "volume_node"},
      {"blanks do not count", {{kZone, " z1 __ z2 "}}, {{kZone, "z2"}}, "none"},
      {"a list with a hole says nothing", {{kZone, "z1__"}}, {{kZone, "z2"}}, "none"},
      {"an empty list neither", {{kZone, ""}}, {{kZone, "z2"}}, "none"},
      {"a node without zones passes", {{kZone, "z1"}}, {}, "none"},
      {"a volume without zones passes", {}, {{kZone, "z1"}}, "none"},
      {"a node with a region only has no zone", {{kZone, "z1"}}, {{kRegion, "r"}}, "volume_node"},
      {"the same region", {{kRegion, "r"}}, {{kRegion, "r"}, {kZone, "z1"}}, "none"},
      {"another region, the same zone",
       {{kRegion, "r"}, {kZone, "z1"}},
       {{kRegion, "s"}, {kZone, "z1"}},
       "volume_node"},
      {"old label of both", {{kBetaZone, "z1"}}, {{kBetaZone, "z1"}}, "none"},
      {"old label of the volume, new one of the node",
       {{kBetaZone, "z1"}},
       {{kZone, "z1"}},
       "none"},
      {"the same with another zone", {{kBetaZone, "z1"}}, {{kZone, "z2"}}, "volume_node"},
      {"the same with a region", {{kBetaRegion, "r"}}, {{kRegion, "s"}}, "volume_node"},
      {"the old label of the node comes first",
       {{kBetaZone, "z1"}},
       {{kBetaZone, "z1"}, {kZone, "z2"}},
       "none"},
      {"new label of the volume, old one of the node",
       {{kZone, "z1"}},
       {{kBetaZone, "z1"}},
       "volume_node"},
  };
  for (const auto& row : rows) {
    Volume made = volume("v");
    made.labels = row.volume;
    tracker_.set(made);
    tracker_.set(bound("c", "v"));
    EXPECT_EQ(check(claimant("p", {"c"}), node("a", row.node)), row.verdict) << row.name;
  }
}

TEST_F(Volumes, ZonesAreNotAskedOfAnEphemeralClaim) {
  Volume made = volume("v");
  made.labels = {{kZone, "z1"}};
  tracker_.set(made);
  Claim own = bound("c", "v");
  own.owner_uid = "p";
  tracker_.set(own);
  PodSpec spec = claimant("p");
  spec.constraints.claims = {{.name = "c", .ephemeral = true}};
  EXPECT_EQ(check(spec, node("a", {{kZone, "z2"}})), "none");
}

TEST_F(Volumes, TheFirstReasonIsSaid) {
  Claim alone = bound("c", "v");
  alone.modes = kRwop;
  Volume made = on_node(csi("v", "csi"), "b");
  made.claim = "ns/c";
  made.claim_uid = "c";
  tracker_.set(made);
  tracker_.set(alone);
  tracker_.set(NodeVolumeLimits{.node = "a", .most = {{"csi", 0}}});
  tracker_.set(waiting("w", 1, "local"));
  tracker_.users().add_pod(claimant("q", {"c"}), "b");
  EXPECT_EQ(check(claimant("p", {"w", "c"}), "a"), "volume_in_use");
  tracker_.users().remove_pod("q");
  EXPECT_EQ(check(claimant("p", {"w", "c"}), "a"), "volume_limit");
  tracker_.drop(AuxKind::node_volume_limits, "a");
  EXPECT_EQ(check(claimant("p", {"w", "c"}), "a"), "volume_node");
  tracker_.set(on_node(made, "a"));
  EXPECT_EQ(check(claimant("p", {"w", "c"}), "a"), "volume_none");
  tracker_.set(volume("free"));
  EXPECT_EQ(check(claimant("p", {"w", "c"}), "a"), "none");
}

}  // namespace
}  // namespace stowage::core
