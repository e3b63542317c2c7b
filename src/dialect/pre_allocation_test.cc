// Pre-allocations of unbound pods, and gangs.
#include <gtest/gtest.h>

#include "dialect/decision.h"
#include "dialect/dialect.h"
#include "dialect/testing.h"
#include "dialect/times.h"

namespace stowage::dialect {
namespace {

using testing::container;
using testing::pod;

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr std::int64_t kNow = 1'700'000'100 * kSecond;  // 2023-11-14T22:15:00Z
constexpr std::int64_t kRecent = kNow - kSecond;
constexpr std::int64_t kAged = kNow - 60 * kSecond;
// The same in the format of the API, and one second before each.
constexpr const char* kRecentText = "2023-11-14T22:14:59Z";
constexpr const char* kBeforeRecent = "2023-11-14T22:14:58Z";
constexpr const char* kAgedText = "2023-11-14T22:14:00Z";

core::NodeSpec two_cards() {
  return {.name = "n1",
          .cards = {{.id = "G0", .index = 0, .memory_mib = 2048},
                    {.id = "G1", .index = 1, .memory_mib = 2048}}};
}

std::optional<PreAllocation> pre_allocation_of(const PodObject& object,
                                               const core::NodeSpec& node) {
  const auto spec = to_spec(object, {.floor_whole_cards = true});
  EXPECT_TRUE(spec) << spec.error().message;
  if (!spec) return std::nullopt;
  return read_pre_allocation({.object = object, .pod = *spec, .node = node, .unix_nanos = kNow});
}

PodObject vgpu_pod() {
  auto object = pod({container("cont1", {{"nvidia.com/vgpu-number", "1"},
                                         {"nvidia.com/vgpu-cores", "10"},
                                         {"nvidia.com/vgpu-memory", "1024"}})});
  object.annotations = {{"nvidia.com/predicate-node", "n1"},
                        {"nvidia.com/pre-allocated", "cont1[1_G1_10_1024]"}};
  return object;
}

// As in vgpu-manager.
TEST(PreAllocation, LastsUntilItIsBroken) {
  struct Row {
    const char* name;
    const char* phase = "";   // label
    const char* reason = "";  // of the condition, if it is False
    const char* since = "";   // of the condition
    std::string made;         // predicate-time; empty: absent
    const char* is = "";      // "kept", "broken" or "none"
  };
  const std::string recent = std::to_string(kRecent);
  const std::string aged = std::to_string(kAged);
  const char* u = "Unschedulable";
  const Row rows[] = {
      {"failed", "failed", "", "", recent, "broken"},
      {"failed and unschedulable", "failed", u, kBeforeRecent, recent, "broken"},
      {"allocating, unschedulable before", "allocating", u, kBeforeRecent, recent, "kept"},
      {"no condition", "", "", "", "", "kept"},
      {"no condition, made just now", "", "", "", recent, "kept"},
      {"another reason", "", "SchedulerError", kRecentText, aged, "broken"},
      {"another reason before", "", "SchedulerError", kBeforeRecent, recent, "kept"},
      {"unschedulable, nobody says when it was made", "", u, kAgedText, "", "broken"},
      {"unschedulable before", "", u, kBeforeRecent, recent, "kept"},
      {"unschedulable since", "", u, kRecentText, aged, "broken"},
      {"within the same second", "", u, kRecentText, std::to_string(kRecent + kSecond / 2), "kept"},
      {"unschedulable, nobody says since when", "", u, "", recent, "kept"},
      {"not a number", "", u, kAgedText, "not-a-number", "none"},
      {"not a number, no condition", "", "", "", "1e9", "none"},
      {"made long ago", "", "", "", aged, "kept"},
      {"made in the far future", "", "", "", std::to_string(kNow + 3600 * kSecond), "none"},
      {"made at the end of time", "", "", "", "9223372036854775807", "none"},
      {"made before all time", "", "", "", "-9223372036854775808", "none"},
  };
  for (const Row& row : rows) {
    auto object = vgpu_pod();
    if (*row.phase != '\0') object.constraints.labels["nvidia.com/assigned-phase"] = row.phase;
    object.unscheduled_reason = row.reason;
    object.unscheduled_since = row.since;
    if (!row.made.empty()) object.annotations["nvidia.com/predicate-time"] = row.made;
    EXPECT_EQ(pre_allocated_node(object), "n1") << row.name;
    for (const char* grace : {"", "1s", "100000h"}) {  // the author cannot set it
      if (*grace != '\0') object.annotations["nvidia.com/stuck-grace-period"] = grace;
      const auto pre_allocation = pre_allocation_of(object, two_cards());
      EXPECT_STREQ(!pre_allocation          ? "none"
                   : pre_allocation->broken ? "broken"
                                            : "kept",
                   row.is)
          << row.name;
    }
    // Once the pod is bound, it counts in any case.
    object.node = "n1";
    object.annotations["nvidia.com/stuck-grace-period"] = "1ms";
    const auto node = two_cards();
    const auto cards = read_answer(object, *to_spec(object, {}), &node);
    EXPECT_TRUE(cards && *cards) << row.name;
    EXPECT_EQ(pre_allocated_node(object), std::nullopt) << row.name;
  }
}

TEST(PreAllocation, NamesTheCardsAndWhenItWasMade) {
  auto object = vgpu_pod();
  object.annotations["nvidia.com/predicate-time"] = std::to_string(kRecent);
  auto pre_allocation = pre_allocation_of(object, two_cards());
  ASSERT_TRUE(pre_allocation);
  EXPECT_EQ(pre_allocation->node, "n1");
  EXPECT_EQ(pre_allocation->cards,
            (core::Assignment{{{{.card = 1, .milli = 100, .memory_mib = 1024}}}}));
  EXPECT_EQ(pre_allocation->made_unix_nanos, kRecent);
}

TEST(PreAllocation, WithoutATimeIsAsOldAsThePod) {
  auto object = vgpu_pod();
  object.created = kRecentText;
  EXPECT_EQ(pre_allocation_of(object, two_cards())->made_unix_nanos, kRecent);
  object.created = "";
  EXPECT_EQ(pre_allocation_of(object, two_cards())->made_unix_nanos, kNow);
}

TEST(PreAllocation, IsTakenOffWithAllThatWasWrittenForIt) {
  auto object = vgpu_pod();
  object.annotations["nvidia.com/predicate-time"] = "1";
  object.annotations["nvidia.com/stuck-grace-period"] = "1s";
  object.annotations["nvidia.com/real-allocated"] = "the agent's";
  object.annotations["tencent.com/predicate-node"] = "of another dialect";
  object.annotations[std::string(kGpusAnnotation)] = "{}";
  object.annotations[std::string(kRetryAnnotation)] = "1";
  EXPECT_EQ(pre_allocation_annotations(object),
            (std::vector<std::string>{"stowage.dev/gpus", "nvidia.com/pre-allocated",
                                      "nvidia.com/predicate-node", "nvidia.com/predicate-time"}));
}

TEST(PreAllocation, OfCardsThatCanNotBeIsNone) {
  auto object = vgpu_pod();
  object.annotations["nvidia.com/pre-allocated"] = "cont1[7_G7_10_1024]";
  EXPECT_FALSE(pre_allocation_of(object, two_cards()));
  object.annotations.erase("nvidia.com/pre-allocated");
  EXPECT_FALSE(pre_allocation_of(object, two_cards()));
  auto other = two_cards();
  other.name = "n2";
  EXPECT_FALSE(pre_allocation_of(vgpu_pod(), other));
  object = vgpu_pod();
  object.deleting = true;
  EXPECT_FALSE(pre_allocation_of(object, two_cards()));
}

// As in gpu-admission.
TEST(PreAllocation, OfVcudaIsReadInBothSpellings) {
  for (const std::string domain : {"tencent.com/", "nvidia.com/"}) {
    const bool fork = domain == "nvidia.com/";
    const auto asking = [&](const char* core, const char* memory) {
      auto object = pod({container("a", {{(domain + "vcuda-core").c_str(), core},
                                         {(domain + "vcuda-memory").c_str(), memory}})});
      object.annotations = {{domain + "predicate-node", "n1"},
                            {domain + "predicate-gpu-idx-0", "1"}};
      return object;
    };
    auto object = asking("50", "2");
    EXPECT_EQ(pre_allocated_node(object), "n1");
    EXPECT_EQ(pre_allocation_of(object, two_cards())->cards,
              (core::Assignment{{{{.card = 1, .milli = 500, .memory_mib = fork ? 2 : 512}}}}));
    object.phase = "Failed";
    EXPECT_FALSE(pre_allocation_of(object, two_cards()));
    object.phase = "Succeeded";
    EXPECT_FALSE(pre_allocation_of(object, two_cards()));
    object.phase = "Pending";
    object.annotations[domain + "predicate-time"] = std::to_string(kRecent);
    EXPECT_FALSE(pre_allocation_of(object, two_cards())->broken);
    object.constraints.labels["tydic.io/bind-phase"] = "failed";
    EXPECT_EQ(pre_allocation_of(object, two_cards())->broken, fork);
    object.constraints.labels.clear();
    object.annotations[domain + "predicate-gpu-idx-0"] = "7";
    EXPECT_FALSE(pre_allocation_of(object, two_cards()));
    // 150 percent is one whole card.
    EXPECT_EQ(pre_allocation_of(asking("150", "0"), two_cards())->cards,
              (core::Assignment{{{{.card = 1, .milli = 1000, .memory_mib = 2048}}}}));
  }
}

TEST(PreAllocation, ThatWeSignedNamesItsCardById) {
  auto object = pod({container("cont1", {{"tencent.com/vcuda-core", "100"}})});
  object.annotations = {
      {"tencent.com/predicate-node", "n1"},
      {"tencent.com/predicate-gpu-idx-0", "0"},
      {"stowage.dev/gpus", R"({"version":1,"node":"n1","containers":{"cont1":[
                            {"id":"G0","index":0,"milli":1000,"memoryMiB":2048}]}})"},
      {"stowage.dev/signature", to_text({.key = std::string(16, '0'),
                                         .purpose = Purpose::pre_allocation,
                                         .unix_nanos = kNow,
                                         .digest = std::string(43, 'A') + "=",
                                         .signature = std::string(86, 'A') + "=="})}};
  auto node = two_cards();
  std::swap(node.cards[0].index, node.cards[1].index);
  const auto spec = to_spec(object, {.floor_whole_cards = true});
  for (const bool is_signed : {true, false}) {
    const auto pre_allocation = read_pre_allocation(
        {.object = object, .pod = *spec, .node = node, .unix_nanos = kNow, .is_signed = is_signed});
    ASSERT_TRUE(pre_allocation);
    EXPECT_EQ(pre_allocation->cards.containers[0][0].card, is_signed ? 0U : 1U);
  }
}

TEST(PreAllocation, IsMadeOnlyByDialectsThatHaveThem) {
  for (const char* resource : {"nvidia.com/gpu", "stowage.dev/gpu", "elasticgpu.io/gpu-core"}) {
    auto object = pod({container("a", {{resource, "100"}})});
    object.annotations = {{"nvidia.com/predicate-node", "n1"},
                          {"tencent.com/predicate-node", "n1"}};
    EXPECT_EQ(pre_allocated_node(object), std::nullopt) << resource;
  }
  auto object = vgpu_pod();
  object.annotations["nvidia.com/predicate-node"] = "";
  EXPECT_EQ(pre_allocated_node(object), std::nullopt);
  EXPECT_EQ(pre_allocated_node(PodObject()), std::nullopt);
}

// As in vgpu-manager.
TEST(Gang, IsNamedByLabelsAnnotationsAndOwners) {
  const struct {
    const char* name;
    core::Labels labels;
    Annotations annotations;
    std::vector<std::string> owners;
    const char* key;
  } rows[] = {
      {"a label", {{"scheduling.x-k8s.io/pod-group", "g"}}, {}, {}, "team-a/g"},
      {"another label", {{"pod-group.scheduling.sigs.k8s.io/name", "g"}}, {}, {}, "team-a/g"},
      {"an annotation", {}, {{"scheduling.volcano.sh/group-name", "g"}}, {}, "team-a/g"},
      {"another annotation", {}, {{"gang.scheduling.koordinator.sh/name", "g"}}, {}, "team-a/g"},
      {"a third annotation", {}, {{"scheduling.k8s.io/group-name", "g"}}, {}, "team-a/g"},
      {"an owner", {}, {}, {"PodGroup"}, "team-a/PodGroup"},
      {"a bare pod", {}, {}, {}, ""},
      {"another owner", {}, {}, {"ReplicaSet"}, ""},
      {"an empty value", {}, {{"gang.scheduling.koordinator.sh/name", ""}}, {}, ""},
      {"an empty label", {{"scheduling.x-k8s.io/pod-group", ""}}, {}, {}, ""},
      {"an unrelated label", {{"app", "g"}}, {}, {}, ""},
      {"an unrelated annotation", {}, {{"example.com/group-name", "g"}}, {}, ""},
      {"an annotation where a label is meant",
       {},
       {{"scheduling.x-k8s.io/pod-group", "g"}},
       {},
       ""},
  };
  for (const auto& row : rows) {
    PodObject object{
        .ns = "team-a", .name = "p", .annotations = row.annotations, .owner_kinds = row.owners};
    object.constraints.labels = row.labels;
    EXPECT_EQ(gang_of(object), row.key) << row.name;
  }
}

TEST(Gang, HasOneKeyHoweverItIsWritten) {
  const struct {
    const char* ns;
    const char* text;
    const char* key;
  } rows[] = {
      {"team-a", "training", "team-a/training"},
      {"team-a", "team-a/training", "team-a/training"},
      {"team-a", "  team-a/training  ", "team-a/training"},
      {"team-a", "/training", "team-a/training"},
      {"team-a", "training/", "team-a/training"},
      {"team-b", "team-a/training", "team-a/training"},
      {"team-b", "training", "team-b/training"},
      {"team-a", "/", ""},
      {"team-a", "   ", ""},
  };
  for (const auto& row : rows) {
    PodObject object{.ns = row.ns};
    object.annotations["scheduling.volcano.sh/group-name"] = row.text;
    EXPECT_EQ(gang_of(object), row.key) << row.text;
  }
}

}  // namespace
}  // namespace stowage::dialect
