// Random updates of a tracker in any order: its answers equal those of a tracker that receives only
// the final state.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/testing/random.h"
#include "core/volumes/volume_tracker.h"

namespace stowage::core {
namespace {

using testing::Dice;
using Op = Requirement::Op;

std::string numbered(Dice& dice, const char* what, std::size_t count) {
  return what + std::to_string(dice.below(count));
}

NodeSpec make_node(const std::string& name) {
  NodeSpec node{.name = name};
  node.labels["host"] = name;
  if (name != "n2") node.labels["topology.kubernetes.io/zone"] = name == "n0" ? "z0" : "z1";
  return node;
}

Claim random_claim(Dice& dice) {
  Claim claim{.name = numbered(dice, "ns/c", 4), .uid = "u"};
  claim.storage_class = numbered(dice, "s", 2);
  claim.has_class = true;
  claim.bytes = static_cast<std::int64_t>(dice.below(3));
  claim.modes = dice.pick<AccessModes>({1, 1, 8});
  claim.deleting = dice.one_in(20);
  claim.owner_uid = dice.one_in(2) ? numbered(dice, "p", 4) : "";
  if (dice.one_in(6)) claim.selected_node = numbered(dice, "n", 3);
  if (dice.one_in(2)) claim.volume = numbered(dice, "v", 5);
  claim.bound = !claim.volume.empty() && !dice.one_in(5);
  return claim;
}

Volume random_volume(Dice& dice) {
  Volume volume{.name = numbered(dice, "v", 5), .storage_class = numbered(dice, "s", 2)};
  volume.bytes = static_cast<std::int64_t>(dice.below(4));
  volume.modes = dice.pick<AccessModes>({1, 9});
  volume.available = !dice.one_in(6);
  if (dice.one_in(3)) volume.claim = numbered(dice, "ns/c", 4);
  if (!volume.claim.empty() && dice.one_in(2)) volume.claim_uid = "u";
  if (dice.one_in(3)) {
    volume.affinity = {{.labels = {{"host", Op::in, {numbered(dice, "n", 3)}}}, .fields = {}}};
  }
  if (dice.one_in(4)) volume.labels["topology.kubernetes.io/zone"] = "z0";
  if (!dice.one_in(3)) {
    volume.driver = numbered(dice, "d", 2);
    volume.handle = numbered(dice, "h", 3);
  }
  return volume;
}

StorageCapacity random_capacity(Dice& dice) {
  return {.name = numbered(dice, "ns/k", 3),
          .storage_class = numbered(dice, "s", 2),
          .nodes = LabelSelector{.all = {{"host", Op::in, {numbered(dice, "n", 3)}}}},
          .bytes = static_cast<std::int64_t>(dice.below(3))};
}

PodSpec random_pod(Dice& dice) {
  const std::string uid = numbered(dice, "p", 4);
  PodSpec pod{.uid = uid, .name = "ns/" + uid};
  for (auto n = dice.below(3); n > 0; --n) {
    pod.constraints.claims.push_back({.name = numbered(dice, "c", 4), .ephemeral = dice.one_in(6)});
  }
  if (dice.one_in(4)) {
    pod.constraints.disks = {{.kind = Disk::Kind::gce,
                              .id = numbered(dice, "disk", 2),
                              .monitors = {},
                              .read_only = dice.one_in(2)}};
  }
  return pod;
}

AuxObject random_aux_object(Dice& dice) {
  switch (dice.below(9)) {
    case 0:
    case 1: return random_claim(dice);
    case 2:
    case 3: return random_volume(dice);
    case 4:
      return StorageClass{.name = numbered(dice, "s", 2),
                          .provisioner = numbered(dice, "d", 2),
                          .waits = !dice.one_in(5)};
    case 5: return StorageDriver{.name = numbered(dice, "d", 2), .tells_capacity = dice.one_in(2)};
    case 6: return random_capacity(dice);
    case 7:
      return NodeVolumeLimits{.node = numbered(dice, "n", 3),
                              .most = {{"d0", static_cast<std::int32_t>(dice.below(3))}}};
    default:
      return Attachment{.name = numbered(dice, "a", 3),
                        .node = numbered(dice, "n", 3),
                        .driver = numbered(dice, "d", 2),
                        .volume = numbered(dice, "v", 5)};
  }
}

std::string name_of(const AuxObject& aux_object) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires {
                        one.node;
                        one.most;
                      }) {
          return one.node;
        } else {
          return one.name;
        }
      },
      aux_object);
}

void tell(VolumeTracker& tracker, const AuxObject& aux_object) {
  std::visit(
      [&](const auto& one) {
        if constexpr (requires { tracker.set(one); }) tracker.set(one);
      },
      aux_object);
}

// All answers of a tracker about a pod on a node.
struct Answer {
  std::string trouble;
  std::vector<std::string> bound;
  std::vector<std::string> waiting;
  std::vector<std::string> exclusive;
  ReasonCode code = ReasonCode::none;
  std::vector<ClaimStep> steps;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer ask(const VolumeTracker& tracker, const PodSpec& pod, const NodeSpec& node) {
  const auto needs = tracker.look_up(pod);
  Answer answer{.trouble = needs.trouble};
  for (const Claim* claim : needs.bound) answer.bound.push_back(claim->name);
  for (const Claim* claim : needs.waiting) answer.waiting.push_back(claim->name);
  answer.exclusive = needs.exclusive;
  if (!needs.trouble.empty()) return answer;
  answer.code = tracker.filter().check(needs, node);
  if (answer.code == ReasonCode::none) answer.steps = tracker.filter().plan(needs, node);
  return answer;
}

std::vector<Answer> ask_all(const VolumeTracker& tracker) {
  std::vector<Answer> answers;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Dice dice(seed);
    const PodSpec pod = random_pod(dice);
    for (const char* node : {"n0", "n1", "n2"})
      answers.push_back(ask(tracker, pod, make_node(node)));
  }
  return answers;
}

struct Way {
  std::vector<ClaimStep> steps;
  std::string node;
};

// A tracker and the true state of its objects.
class World {
 public:
  // Starts with many objects; otherwise nearly every answer would be that a claim is missing.
  World() {
    for (std::uint16_t seed = 0; seed < 200; ++seed) step(seed);
  }
  void step(std::uint16_t seed) {
    Dice dice(seed);
    switch (dice.below(10)) {
      case 0: {
        const AuxObject gone = random_aux_object(dice);
        things_.erase({gone.index(), name_of(gone)});
        tracker_.drop(static_cast<AuxKind>(gone.index()), name_of(gone));
        break;
      }
      case 1:
      case 2: {
        const PodSpec pod = random_pod(dice);
        pods_[pod.uid] = {pod, numbered(dice, "n", 3)};
        tracker_.users().add_pod(pod, pods_[pod.uid].second);
        break;
      }
      case 3: {
        const std::string uid = numbered(dice, "p", 4);
        pods_.erase(uid);
        tracker_.users().remove_pod(uid);
        break;
      }
      case 4: {
        Way way{.steps = {}, .node = numbered(dice, "n", 3)};
        const std::string uid = numbered(dice, "p", 4);
        for (const char* claim : {"ns/c0", "ns/c1", "ns/c2"}) {
          if (dice.one_in(2)) continue;
          way.steps.push_back(
              {.claim = claim, .volume = dice.one_in(3) ? "" : numbered(dice, "v", 5)});
        }
        tracker_.reservations().reserve(uid, way.steps, way.node);
        ways_[uid] = way;
        break;
      }
      case 5: {
        const std::string uid = numbered(dice, "p", 4);
        ways_.erase(uid);
        tracker_.reservations().release(uid);
        break;
      }
      default: set(random_aux_object(dice)); break;
    }
  }

  [[nodiscard]] std::unique_ptr<VolumeTracker> rebuilt() const {
    auto tracker = std::make_unique<VolumeTracker>();
    for (const auto& [uid, pod] : pods_) tracker->users().add_pod(pod.first, pod.second);
    for (auto at = things_.rbegin(); at != things_.rend(); ++at) tell(*tracker, at->second);
    for (const auto& [uid, way] : ways_) tracker->reservations().reserve(uid, way.steps, way.node);
    return tracker;
  }
  [[nodiscard]] VolumeTracker& tracker() { return tracker_; }
  // Uids of some of the pods on the node.
  [[nodiscard]] VolumeUsers::Uids some_on(const std::string& node, Dice& dice) const {
    VolumeUsers::Uids uids;
    for (const auto& [uid, pod] : pods_) {
      if (pod.second == node && !dice.one_in(3)) uids.insert(uid);
    }
    return uids;
  }

 private:
  void set(const AuxObject& aux_object) {
    things_[{aux_object.index(), name_of(aux_object)}] = aux_object;
    tell(tracker_, aux_object);
    // A reservation ends when the API shows it done.
    const auto settled = [&](const ClaimStep& step) {
      if (const auto* claim = std::get_if<Claim>(&aux_object)) {
        if (claim->name != step.claim) return false;
        return claim->bound || (step.volume.empty() && !claim->selected_node.empty());
      }
      const auto* volume = std::get_if<Volume>(&aux_object);
      return volume != nullptr && volume->name == step.volume && volume->claim == step.claim &&
             !volume->claim_uid.empty();
    };
    for (auto& [uid, way] : ways_) std::erase_if(way.steps, settled);
  }

  VolumeTracker tracker_;
  std::map<std::pair<std::size_t, std::string>, AuxObject> things_;
  std::map<std::string, std::pair<PodSpec, std::string>> pods_;
  std::map<std::string, Way> ways_;
};

RC_GTEST_PROP(VolumeProperty, AnswersDependOnWhatIsTrueInTheEnd,
              (const std::vector<std::uint16_t>& seeds)) {
  World world;
  for (const auto seed : seeds) {
    world.step(seed);
    RC_ASSERT(ask_all(world.tracker()) == ask_all(*world.rebuilt()));
  }
}

RC_GTEST_PROP(VolumeProperty, APodThatIsLookedAwayFromIsAsIfItWereNotThere,
              (const std::vector<std::uint16_t>& seeds)) {
  World world;
  for (const auto seed : seeds) world.step(seed);
  const auto before = ask_all(world.tracker());
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    Dice dice(seed);
    const NodeSpec node = make_node(numbered(dice, "n", 3));
    const PodSpec pod = random_pod(dice);
    VolumeUsers::Uids removed = world.some_on(node.name, dice);
    removed.erase(pod.uid);
    const auto needs = world.tracker().look_up(pod);
    if (!needs.trouble.empty()) continue;
    const auto fewer = world.rebuilt();
    for (const auto& uid : removed) fewer->users().remove_pod(uid);
    const auto without = fewer->look_up(pod);
    RC_ASSERT(world.tracker().filter().check(needs, node, removed) ==
              fewer->filter().check(without, node));
    RC_ASSERT(world.tracker().users().claim_taken(needs, removed) ==
              fewer->users().claim_taken(without));
  }
  RC_ASSERT(ask_all(world.tracker()) == before);
}

RC_GTEST_PROP(VolumeProperty, ReserveThenReleaseIsIdentity,
              (const std::vector<std::uint16_t>& seeds)) {
  World world;
  for (const auto seed : seeds) world.step(seed);
  const auto before = ask_all(world.tracker());
  for (const char* node : {"n0", "n1", "n2"}) {
    PodSpec pod{.uid = "new", .name = "ns/new"};
    pod.constraints.claims = {{.name = "c0"}, {.name = "c1"}};
    const auto needs = world.tracker().look_up(pod);
    if (!needs.trouble.empty()) break;
    if (world.tracker().filter().check(needs, make_node(node)) != ReasonCode::none) continue;
    const auto steps = world.tracker().filter().plan(needs, make_node(node));
    world.tracker().reservations().reserve("new", steps, node);
    const auto again = world.tracker().look_up(pod);
    RC_ASSERT(world.tracker().filter().check(again, make_node(node)) == ReasonCode::none);
    RC_ASSERT(world.tracker().filter().plan(again, make_node(node)) == steps);
    PodSpec other = pod;
    other.uid = "other";
    const auto after = ask(world.tracker(), other, make_node(node));
    if (after.code == ReasonCode::none) RC_ASSERT(after.steps == steps);
    world.tracker().reservations().release("new");
    RC_ASSERT(ask_all(world.tracker()) == before);
  }
}

}  // namespace
}  // namespace stowage::core
