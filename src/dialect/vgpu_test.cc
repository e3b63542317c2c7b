// Pods and their answers in the vgpu dialect.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "dialect/claims.h"
#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::Assignment;
using core::CardPolicy;
using core::GpuRequest;
using core::NodePolicy;
using testing::pod;

// number/cores/memory; "0" is absent.
ContainerObject vgpu(const char* name, const char* number, const char* cores, const char* memory) {
  return testing::container(name, {{"nvidia.com/vgpu-number", number},
                                   {"nvidia.com/vgpu-cores", cores},
                                   {"nvidia.com/vgpu-memory", memory}});
}

core::PodSpec spec_of(const PodObject& object, const ReadOptions& options = {}) {
  auto spec = to_spec(object, options);
  EXPECT_TRUE(spec) << spec.error().message;
  return spec.value_or(core::PodSpec());
}

std::string error_of(const PodObject& object) {
  const auto spec = to_spec(object, {});
  return spec ? "no error" : spec.error().message;
}

core::NodeSpec two_cards() {
  return {.name = "n1",
          .cards = {{.id = "G0", .index = 0, .memory_mib = 12000},
                    {.id = "G1", .index = 1, .memory_mib = 24000}}};
}

// As in vgpu-manager.
TEST(Vgpu, ResolvesRequests) {
  const struct {
    const char* number;
    const char* cores;
    const char* memory;
    std::int32_t factor;
    GpuRequest ask;
    bool whole;
  } rows[] = {
      {"1", "0", "0", 1024, {.count = 1}, true},
      {"1", "50", "0", 1024, {.count = 1, .milli = 500, .memory_mib = core::kWholeMemory}, false},
      {"1", "0", "4", 1024, {.count = 1, .memory_mib = 4096}, false},
      {"2", "50", "8", 1024, {.count = 2, .milli = 500, .memory_mib = 8192}, false},
      {"1", "0", "4096", 0, {.count = 1, .memory_mib = 4096}, false},
      {"1", "100", "12", 1024, {.count = 1, .milli = 1000, .memory_mib = 12288}, true},
      {"1", "100", "0", 1024, {.count = 1, .milli = 1000}, true},
      {"2", "0", "0", 1, {.count = 2}, true},
  };
  for (const auto& row : rows) {
    const auto spec = spec_of(pod({vgpu("cont1", row.number, row.cores, row.memory)}),
                              {.vgpu_memory_mib = row.factor});
    EXPECT_EQ(spec.containers[0].gpu, row.ask) << row.cores << "/" << row.memory;
    EXPECT_EQ(spec.containers[0].gpu.whole(), row.whole);
  }
}

// As in vgpu-manager.
TEST(Vgpu, RefusesMoreThanItsLimitsWithTheMessagesOfVgpuManager) {
  EXPECT_EQ(error_of(pod({vgpu("cont1", "1", "101", "2048")})),
            "container cont1 requests vGPU core exceeding limit");
  EXPECT_EQ(error_of(pod({vgpu("cont1", "17", "0", "0")})),
            "container cont1 requests vGPU number exceeding limit");
  EXPECT_EQ(error_of(pod({vgpu("cont1", "16", "100", "0")})), "no error");
  EXPECT_EQ(error_of(pod({vgpu("cont1", "0", "10", "0")})),
            "pod ml/train container \"cont1\" asks for nvidia.com/vgpu-cores but for no "
            "nvidia.com/vgpu-number; write the number of cards");
  EXPECT_EQ(error_of(pod({vgpu("cont1", "0", "0", "10")})),
            "pod ml/train container \"cont1\" asks for nvidia.com/vgpu-memory but for no "
            "nvidia.com/vgpu-number; write the number of cards");
  EXPECT_EQ(error_of(pod({vgpu("cont1", "1", "0", "5000000")})),
            "pod ml/train container \"cont1\" asks for 5000000 of nvidia.com/vgpu-memory; one is 1 "
            "MiB, and no card has that much memory");
}

TEST(Vgpu, NeedsANodeThatCountsMemoryAsItDoes) {
  const auto whole = pod({vgpu("a", "1", "0", "0"), vgpu("b", "1", "50", "0")});
  auto share = pod({vgpu("a", "1", "0", "0"), vgpu("b", "1", "50", "4")});
  EXPECT_EQ(spec_of(whole, {.vgpu_memory_mib = 1024}).needs, "vgpu");
  EXPECT_EQ(spec_of(share).needs, "vgpu/1MiB");
  EXPECT_EQ(spec_of(share, {.vgpu_memory_mib = 1024}).needs, "vgpu/1024MiB");
  share.annotations["nvidia.com/memory-scheduler-policy"] = "Virtual";
  EXPECT_EQ(spec_of(share).needs, "vgpu/1MiB/virtual");
  share.annotations["nvidia.com/memory-scheduler-policy"] = "none";
  EXPECT_EQ(spec_of(share).needs, "vgpu/1MiB");
}

// The engine needs only the request and the phase of each container.
TEST(Vgpu, CountsInitContainersAndSidecars) {
  auto init = vgpu("init", "1", "80", "8000");
  init.init = true;
  auto sidecar = vgpu("side", "1", "20", "2000");
  sidecar.init = true;
  sidecar.sidecar = true;
  const auto spec = spec_of(pod({init, sidecar, vgpu("app", "1", "40", "4000")}));
  EXPECT_EQ(spec.containers[0].phase, core::Phase::init);
  EXPECT_EQ(spec.containers[0].gpu, (GpuRequest{.count = 1, .milli = 800, .memory_mib = 8000}));
  EXPECT_EQ(spec.containers[1].phase, core::Phase::sidecar);
  EXPECT_EQ(spec.containers[1].gpu, (GpuRequest{.count = 1, .milli = 200, .memory_mib = 2000}));
  EXPECT_EQ(spec.containers[2].gpu, (GpuRequest{.count = 1, .milli = 400, .memory_mib = 4000}));
}

// As in vgpu-manager.
TEST(Vgpu, ChoosesTypesOfCards) {
  const char* a10 = "NVIDIA A10";
  const char* a100 = "NVIDIA A100-SXM4-80GB";
  const char* small_a100 = "NVIDIA A100-SXM4-40GB";
  const char* rtx = "NVIDIA GeForce RTX 3080 Ti";
  const struct {
    const char* card;
    const char* include;  // null: absent
    const char* exclude;
    bool match;
  } rows[] = {
      {a10, "A10", nullptr, true},
      {small_a100, "3080Ti", nullptr, false},
      {small_a100, "NVIDIA A10", "NVIDIA A100", false},
      {a100, "NVIDIA A100-SXM4-40GB", nullptr, false},
      {a100, nullptr, "NVIDIA A100", false},
      {rtx, "RTX 4090,RTX 3080", nullptr, true},
      {rtx, nullptr, nullptr, true},
      {a100, "a100", nullptr, true},
      {a100, "", nullptr, true},
      {a100, nullptr, "   ", true},
      {a100, "V100,", nullptr, false},
      {a100, nullptr, ",V100", true},
      {a100, nullptr, "V100,", true},
      {a100, "   ", nullptr, true},
      {a100, ",,", nullptr, true},
      {a100, "A100", "A100", false},
  };
  for (const auto& row : rows) {
    auto object = pod({vgpu("c", "1", "0", "0")});
    if (row.include != nullptr) object.annotations["nvidia.com/include-gpu-type"] = row.include;
    if (row.exclude != nullptr) object.annotations["nvidia.com/exclude-gpu-type"] = row.exclude;
    const auto filter = spec_of(object).containers[0].gpu.filter;
    EXPECT_EQ(core::accepts_model(filter, row.card), row.match)
        << row.card << " in " << (row.include == nullptr ? "-" : row.include);
  }
}

TEST(Vgpu, ChoosesCards) {
  const struct {
    const char* include;
    const char* exclude;
    bool match;
  } rows[] = {
      {"g", nullptr, true},   {"other", nullptr, false},   {"other,g", nullptr, true},
      {nullptr, "g", false},  {nullptr, "other,g", false}, {nullptr, nullptr, true},
      {"", nullptr, true},    {"   ", nullptr, true},      {"g,", nullptr, true},
      {",g", nullptr, true},  {nullptr, "g,", false},      {nullptr, ",g", false},
      {nullptr, "   ", true}, {"g", "g", false},           {"g", "other", true},
  };
  for (const auto& row : rows) {
    auto object = pod({vgpu("c", "1", "0", "0")});
    if (row.include != nullptr) object.annotations["nvidia.com/include-gpu-uuid"] = row.include;
    if (row.exclude != nullptr) object.annotations["nvidia.com/exclude-gpu-uuid"] = row.exclude;
    const auto filter = spec_of(object).containers[0].gpu.filter;
    EXPECT_EQ(core::accepts_id(filter, "g"), row.match)
        << (row.include == nullptr ? "-" : row.include) << " not "
        << (row.exclude == nullptr ? "-" : row.exclude);
  }
}

TEST(Vgpu, NamesPoliciesForTheNodeAndForTheCard) {
  const struct {
    const char* node;
    const char* card;
    core::PolicyWish wish;
  } rows[] = {
      {"", "", {}},
      {"binpack", "", {.node = NodePolicy::binpack, .weighted = true}},
      {"", "spread", {.card = CardPolicy::spread, .weighted = true}},
      {"none", "none", {.node = NodePolicy::first, .card = CardPolicy::first, .weighted = true}},
      {" Spread",
       "BINPACK",
       {.node = NodePolicy::spread, .card = CardPolicy::binpack, .weighted = true}},
  };
  for (const auto& row : rows) {
    auto object = pod({vgpu("c", "1", "0", "0")});
    object.annotations = {{"nvidia.com/node-scheduler-policy", row.node},
                          {"nvidia.com/device-scheduler-policy", row.card}};
    EXPECT_EQ(spec_of(object).wish, row.wish) << row.node << "/" << row.card;
  }
}

TEST(Vgpu, RefusesUnknownValues) {
  const struct {
    const char* key;
    const char* words;
  } rows[] = {
      {"nvidia.com/node-scheduler-policy", "write none, binpack or spread"},
      {"nvidia.com/device-scheduler-policy", "write none, binpack or spread"},
      {"nvidia.com/memory-scheduler-policy", "write virtual, physical or none"},
      {"nvidia.com/device-topology-mode", "write none, numa, numa-strict, link or link-strict"},
  };
  for (const auto& row : rows) {
    auto object = pod({vgpu("c", "1", "0", "0")});
    object.annotations[row.key] = "best";
    EXPECT_EQ(error_of(object),
              std::string("pod ml/train: annotation ") + row.key + " is \"best\"; " + row.words);
    object.node = "n1";
    EXPECT_EQ(error_of(object), "no error");
  }
  auto object = pod({vgpu("c", "2", "0", "0")});
  object.annotations["nvidia.com/device-topology-mode"] = "link-strict";
  EXPECT_EQ(spec_of(object).containers[0].gpu.topology, core::Topology::link_strict);
}

// As in vgpu-manager.
TEST(Claims, AreWrittenAndReadBack) {
  const AnnotatedCard one{.index = 0, .id = "G0", .memory_mib = 1024};
  const AnnotatedCard ten{.index = 1, .id = "G1", .percent = 10, .memory_mib = 2048};
  const AnnotatedCard half{.index = 1, .id = "G1", .percent = 50, .memory_mib = 10240};
  const struct {
    std::vector<Claim> claims;
    const char* text;
  } rows[] = {
      {{{"cont1", {one}}}, "cont1[0_G0_0_1024]"},
      {{{"cont1", {}}}, "cont1[]"},
      {{{"cont1", {one, ten}}}, "cont1[0_G0_0_1024,1_G1_10_2048]"},
      {{{"cont1", {one}}, {"cont2", {one}}}, "cont1[0_G0_0_1024];cont2[0_G0_0_1024]"},
      {{{"cont1", {one, half}}, {"cont2", {one, half}}},
       "cont1[0_G0_0_1024,1_G1_50_10240];cont2[0_G0_0_1024,1_G1_50_10240]"},
      {{}, ""},
      {{{"c", {{.index = 0, .id = "odd_id", .memory_mib = 1}}}}, "c[0_odd_id_0_1]"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(claims_text(row.claims), row.text);
    const auto back = parse_claims(row.text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, row.claims) << row.text;
  }
}

TEST(Claims, ThatAreNoneAreRefused) {
  for (const char* text :
       {"x", "[0_G0_0_1]", "c[", "c]", "c[0_G0_0]", "c[0_G0_0_1", "c[0__0_1]", "c[a_G0_0_1]",
        "c[0_G0_101_1]", "c[0_G0_-1_1]", "c[0_G0_0_99999999999]", "c[];c[]", "c[,]"}) {
    EXPECT_FALSE(parse_claims(text)) << text;
  }
}

RC_GTEST_PROP(Claims, OfAnyTextNeverCrash, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('c', '[', ']', '_', ',', ';', '0', '9', 'G'));
  const auto claims = parse_claims(text);
  if (!claims) return;
  const auto again = parse_claims(claims_text(*claims));
  RC_ASSERT(again);
  RC_ASSERT(*again == *claims);
}

TEST(VgpuAnswer, IsWhatTheAgentReads) {
  const auto object = pod({testing::container("idle", {}), vgpu("whole", "1", "0", "0"),
                           vgpu("part", "1", "30", "2048"), vgpu("half", "1", "50", "0"),
                           vgpu("memory", "2", "0", "1000"), vgpu("all", "1", "100", "5000")});
  const auto spec = spec_of(object);
  const auto node = two_cards();
  const Assignment cards{{{},
                          {{.card = 1, .milli = 1000, .memory_mib = 24000}},
                          {{.card = 0, .milli = 300, .memory_mib = 2048}},
                          {{.card = 0, .milli = 500, .memory_mib = 12000}},
                          {{.card = 0, .memory_mib = 1000}, {.card = 1, .memory_mib = 1000}},
                          {{.card = 0, .milli = 1000, .memory_mib = 12000}}}};
  auto written = answer(
      {.object = object, .pod = spec, .node = node, .cards = cards, .unix_nanos = 1700000000123});
  EXPECT_EQ(written.annotations.erase("stowage.dev/gpus"), 1U);
  EXPECT_EQ(written.annotations,
            (Annotations{{"nvidia.com/predicate-node", "n1"},
                         {"nvidia.com/predicate-time", "1700000000123"},
                         {"nvidia.com/pre-allocated",
                          "whole[1_G1_100_24000];part[0_G0_30_2048];half[0_G0_50_12000];"
                          "memory[0_G0_0_1000,1_G1_0_1000];all[0_G0_100_5000]"}}));
  auto bound = object;
  bound.node = "n1";
  bound.annotations = written.annotations;
  const auto back = read_answer(bound, spec, &node);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, cards);
}

class ReadVgpuAnswer : public ::testing::Test {
 protected:
  [[nodiscard]] Result<std::optional<Assignment>> read(Annotations annotations) const {
    PodObject bound = object_;
    bound.node = "n1";
    bound.annotations = std::move(annotations);
    return read_answer(bound, spec_of(object_), &node_);
  }

  core::NodeSpec node_ = two_cards();
  PodObject object_ = pod({vgpu("a", "1", "10", "1024"), vgpu("b", "1", "10", "1024")});
};

TEST_F(ReadVgpuAnswer, PrefersWhatTheAgentGaveForEachContainer) {
  const auto cards = read({{"nvidia.com/pre-allocated", "a[0_G0_10_1024];b[0_G0_10_1024]"},
                           {"nvidia.com/real-allocated", "a[1_G1_10_1024]"}});
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(*cards, (Assignment{{{{.card = 1, .milli = 100, .memory_mib = 1024}},
                                 {{.card = 0, .milli = 100, .memory_mib = 1024}}}}));
  EXPECT_EQ(*read({}), std::optional<Assignment>());
}

TEST_F(ReadVgpuAnswer, AcceptsMoreMemoryFromTheAgent) {
  const auto cards = read({{"nvidia.com/real-allocated", "a[0_G0_10_2048];b[1_G1_10_1024]"}});
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ((*cards)->containers[0][0].memory_mib, 2048);
}

TEST_F(ReadVgpuAnswer, RefusesWhatCanNotBeTrue) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"a[0_G0_10_1024]", "container \"b\" asks for 1 cards but is given 0"},
      {"a[0_G0_10_1024,1_G1_10_1024];b[0_G0_10_1024]",
       "container \"a\" asks for 1 cards but is given 2"},
      {"a[0_G0_10_1024];b[0_G0_10_1024];z[]", "container \"z\": the pod has no such container"},
      {"a[0_G0_10_1024,0_G0_10_1024];b[]", "container \"a\": card 0 appears twice"},
      {"a[7_G7_10_1024]", "container \"a\": node n1 has no card G7 (index 7)"},
      {"a[0_G0_20_1024]",
       "container \"a\": 20 percent and 1024 MiB of card 0 are not what the container asks for"},
      {"a[0_G0_10_1023]",
       "container \"a\": 10 percent and 1023 MiB of card 0 are not what the container asks for"},
      {"a[0_G0_10_99999]",
       "container \"a\": 99999 MiB are more than the 12000 MiB that card 0 has"},
      {"nonsense", "nvidia.com/pre-allocated: \"nonsense\" is not container[cards]"},
  };
  for (const auto& row : rows) {
    const auto cards = read({{"nvidia.com/pre-allocated", row.text}});
    ASSERT_FALSE(cards) << row.text;
    EXPECT_EQ(cards.error().message,
              std::string("pod ml/train: annotations of the node's agent: ") + row.words);
  }
  EXPECT_EQ(read({{"nvidia.com/pre-allocated", "a[0_G0_10_1024];b[0_G0_10_1024]"},
                  {"nvidia.com/predicate-node", "n2"}})
                .error()
                .message,
            "pod ml/train: annotations of the node's agent: nvidia.com/predicate-node is n2, but "
            "the pod is on n1");
}

}  // namespace
}  // namespace stowage::dialect
