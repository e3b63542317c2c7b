// Limits on what hostile authors can cause, in bytes and work, for one object of each kind of list
// at the largest size that the API accepts, and at the largest that our limits allow. Times are not
// measured here; bench/hostile_bench does that.
#include <string>

#include <gtest/gtest.h>

#include "tests/hostile/controller.h"
#include "tests/hostile/objects.h"

namespace stowage::hostile {
namespace {

constexpr int kNodes = 40;
constexpr std::size_t kRounds = 3;
constexpr std::size_t kAuxObjectsOfEach = 5;
// What one pod may cost beyond its own text, in the cluster cache and in the engine together.
constexpr std::size_t kBytesPerPod = (kHeapIsPadded ? std::size_t{1024} : std::size_t{256}) << 10U;

std::string node_name(std::size_t i) { return "node-" + std::to_string(i % kNodes); }

void add_nodes(Controller& controller) {
  for (int n = 0; n < kNodes; ++n) {
    controller.upsert_node(
        node_json(nullptr, node_name(static_cast<std::size_t>(n)), Size::within_limits));
  }
}

// The parser keeps its buffer for the longest text, six times its length: once, for all objects.
void make_room_to_read(Controller& controller) {
  const Kind& longest = node_kinds().front();
  controller.upsert_node(node_json(&longest, "unused", Size::largest));
  controller.remove_node("unused");
}

struct Case {
  Size size;
  bool bound;
};

class HostilePods : public ::testing::TestWithParam<Case> {
 protected:
  static std::string json(std::size_t i) {
    const auto& kinds = pod_kinds();
    return pod_json(kinds[i % kinds.size()],
                    {.number = i,
                     .size = GetParam().size,
                     .node = GetParam().bound ? node_name(i) : std::string()});
  }
  static std::size_t pods() { return kRounds * pod_kinds().size(); }

  static void add_pods(Controller& controller) {
    controller.upsert_pod(json(0));  // the parser has its buffer from now on
    for (std::size_t i = 0; i < pods(); ++i) {
      const std::string text = json(i);
      const std::size_t before = heap_bytes();
      controller.upsert_pod(text);
      const std::size_t after = heap_bytes();
      if (after <= before + text.size() + kBytesPerPod) continue;
      ADD_FAILURE() << pod_uid(pod_kinds()[i % pod_kinds().size()], i) << " of " << text.size()
                    << " bytes costs " << after - before;
    }
  }
  static void remove_pods(Controller& controller) {
    const auto& kinds = pod_kinds();
    for (std::size_t i = 0; i < pods(); ++i) {
      controller.remove_pod(pod_uid(kinds[i % kinds.size()], i));
    }
  }
};

TEST_P(HostilePods, CostLittleMemoryAndGiveItBack) {
  Controller controller;
  add_nodes(controller);
  {  // tables that grow once
    add_pods(controller);
    remove_pods(controller);
  }
  const std::size_t before = heap_bytes();
  add_pods(controller);
  EXPECT_TRUE(controller.engine().audit().empty());
  EXPECT_EQ(controller.engine().ledger().names().resources().size(), 0U) << "no node offers any";
  remove_pods(controller);
  controller.tick();
  EXPECT_LE(heap_bytes(), before + (std::size_t{4} << 20U));
  EXPECT_EQ(controller.engine().counters().waiting, 0U);
  EXPECT_EQ(controller.engine().ledger().pods().count(), 0U);
  EXPECT_EQ(controller.unreadable(), 0U);
}

TEST_P(HostilePods, AreTheSameAfterARestart) {
  Controller controller;
  add_pods(controller);
  add_nodes(controller);
  Controller other;
  add_nodes(other);
  add_pods(other);
  for (int i = 0; i < 100; ++i) controller.tick();
  for (int i = 0; i < 100; ++i) other.tick();
  EXPECT_TRUE(controller.engine().audit().empty());
  EXPECT_EQ(controller.cluster_cache().sizes().pending, other.cluster_cache().sizes().pending);
  EXPECT_EQ(controller.cluster_cache().sizes().bound, other.cluster_cache().sizes().bound);
  EXPECT_EQ(controller.engine().ledger().pods().count() + controller.engine().counters().waiting,
            other.engine().ledger().pods().count() + other.engine().counters().waiting);
}

TEST_P(HostilePods, KeepNoOtherPodFromAPlace) {
  Controller controller;
  add_nodes(controller);
  add_pods(controller);
  const std::size_t before = controller.bound();
  const std::uint64_t judged = controller.engine().counters().nodes_judged;
  controller.upsert_pod(plain_pod_json("plain", 1000, ""));
  EXPECT_GE(controller.bound() + controller.engine().counters().evicted, before + 1);
  EXPECT_LE(controller.engine().counters().nodes_judged - judged, 4U * kNodes);
  EXPECT_TRUE(controller.engine().audit().empty());
}

INSTANTIATE_TEST_SUITE_P(Sizes, HostilePods,
                         ::testing::Values(Case{Size::largest, false}, Case{Size::largest, true},
                                           Case{Size::within_limits, false},
                                           Case{Size::within_limits, true}));

// The largest ones are refused with a sentence, those within the limits are not.
TEST(HostileAuthors, AreToldWhatTheLimitIs) {
  Controller controller;
  add_nodes(controller);
  std::size_t number = 0;
  for (const Kind& kind : pod_kinds()) {
    const std::string name = pod_uid(kind, number);
    controller.upsert_pod(pod_json(kind, {.number = number, .size = Size::largest}));
    const std::string why = controller.why(name);
    const std::string list = kind.name;
    const bool harmless = list == "schedulingGates" || list == "ephemeralContainers" ||
                          list == "ownerReferences" || list == "status.conditions";
    EXPECT_EQ(why.empty(), harmless) << list << ": " << why;
    const bool unsupported = list == "resourceClaims" || list == "unknown operators";
    EXPECT_LE(why.size(), unsupported ? 700U : 299U) << list;  // eight that are named, or one
    if (!harmless && !unsupported) {
      EXPECT_NE(why.find("more than"), std::string::npos) << why;
    }
    ++number;
  }
}

TEST(HostileAuthors, PodsWithinTheLimitsAreNotRefused) {
  Controller controller;
  add_nodes(controller);
  std::size_t number = 0;
  for (const Kind& kind : pod_kinds()) {
    const std::string list = kind.name;
    if (list == "resourceClaims" || list == "unknown operators") continue;
    controller.upsert_pod(pod_json(kind, {.number = number, .size = Size::within_limits}));
    EXPECT_EQ(controller.why(pod_uid(kind, number)), "") << list;
    ++number;
  }
}

TEST(HostileAuthors, BoundPodsAreChargedAllTheSame) {
  for (const Kind& kind : pod_kinds()) {
    Controller controller;
    add_nodes(controller);
    controller.upsert_pod(pod_json(kind, {.number = 1, .size = Size::largest, .node = "node-1"}));
    const auto& ledger = controller.engine().ledger();
    const auto& state = ledger.nodes().state(ledger.nodes().find("node-1"));
    EXPECT_LT(state.cpu_free_milli, 64'000) << kind.name;
    EXPECT_EQ(state.pods_free, 249) << kind.name;
    EXPECT_TRUE(state.unnamed) << kind.name << ": it has a card that nobody has named";
  }
}

void add_aux_objects(Controller& controller, Size size) {
  for (const AuxKind& kind : aux_kinds()) {
    for (std::size_t i = 0; i < kAuxObjectsOfEach; ++i) {
      const std::string text = aux_object_json(kind, i, size);
      const std::size_t before = heap_bytes();
      controller.upsert_object(kind.kind, text);
      EXPECT_LE(heap_bytes(), before + text.size() + kBytesPerPod) << kind.list.name;
    }
  }
}

void remove_objects(Controller& controller) {
  for (const AuxKind& kind : aux_kinds()) {
    const bool namespaced = kind.kind == core::AuxKind::claim ||
                            kind.kind == core::AuxKind::storage_capacity ||
                            kind.kind == core::AuxKind::budget;
    for (std::size_t i = 0; i < kAuxObjectsOfEach; ++i) {
      controller.remove_object(kind.kind, (namespaced ? "ns/" : "") + aux_object_name(kind, i));
    }
  }
}

TEST(HostileObjects, OfEveryKindCostLittleMemoryAndGiveItBack) {
  for (const Size size : {Size::largest, Size::within_limits}) {
    Controller controller;
    add_nodes(controller);
    make_room_to_read(controller);
    {  // tables that grow once
      add_aux_objects(controller, size);
      remove_objects(controller);
    }
    const std::size_t start = heap_bytes();
    add_aux_objects(controller, size);
    remove_objects(controller);
    EXPECT_LE(heap_bytes(), start + (std::size_t{1} << 20U));
  }
}

TEST(HostileObjects, NodesOverALimitAreNotUsed) {
  for (const Kind& kind : node_kinds()) {
    Controller controller;
    make_room_to_read(controller);
    const std::size_t start = heap_bytes();
    controller.upsert_node(node_json(&kind, "node-0", Size::largest));
    const std::string list = kind.name;
    const bool harmless = list == "conditions" || list == "images";
    EXPECT_EQ(controller.engine().ledger().nodes().count(), harmless ? 1U : 0U) << list;
    EXPECT_LE(heap_bytes(), start + (std::size_t{4} << 20U)) << list;
    controller.upsert_node(node_json(&kind, "node-0", Size::within_limits));
    EXPECT_EQ(controller.engine().ledger().nodes().count(), 1U) << list;
    controller.remove_node("node-0");
    EXPECT_EQ(controller.engine().ledger().names().resources().size(), 0U);
  }
}

TEST(HostileBodies, OfTheExtenderCostNothingAfterwards) {
  Controller controller;
  add_nodes(controller);
  for (int round = 0; round < 2; ++round) {
    const std::size_t before = heap_bytes();
    for (const Kind& kind : pod_kinds()) {
      for (const Size size : {Size::largest, Size::within_limits}) {
        controller.ask_extender(pod_json(kind, {.number = 1, .size = size}));
        controller.remove_pod(pod_uid(kind, 1));
      }
    }
    // Sanitizers make long lists slow.
    controller.ask_extender_long_lists(plain_pod_json("asked", 0, ""),
                                       kHeapIsPadded ? 5'000 : Controller::kMostNamed);
    controller.tick();
    if (round == 0) continue;  // tables that grow once
    EXPECT_LE(heap_bytes(), before + (std::size_t{4} << 20U));
    EXPECT_EQ(controller.engine().counters().held, 0U);
    EXPECT_EQ(controller.engine().audit(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace stowage::hostile
