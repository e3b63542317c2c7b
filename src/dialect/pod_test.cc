#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::GpuRequest;
using testing::container;
using testing::pod;

std::string error_of(const PodObject& object, const ReadOptions& options = {}) {
  const auto spec = to_spec(object, options);
  return spec ? "no error" : spec.error().message;
}

// The card requests of the containers; fails the test if there are none.
std::vector<GpuRequest> asks_of(const PodObject& object, const ReadOptions& options = {}) {
  const auto reading = read(object, options);
  EXPECT_TRUE(reading) << reading.error().message;
  if (!reading || !*reading) return {};
  return (*reading)->asks;
}

TEST(Native, ReadsCardsAndShares) {
  const struct {
    testing::Amounts amounts;
    GpuRequest ask;
  } rows[] = {
      {{{"stowage.dev/gpu", "2"}}, {.count = 2}},
      {{{"stowage.dev/gpu-core", "50"}},
       {.count = 1, .milli = 500, .memory_mib = core::kMemoryWithCore}},
      {{{"stowage.dev/gpu-memory", "8192"}}, {.count = 1, .memory_mib = 8192}},
      {{{"stowage.dev/gpu-memory", "8k"}}, {.count = 1, .memory_mib = 8000}},
      {{{"stowage.dev/gpu-core", "25"}, {"stowage.dev/gpu-memory", "4096"}},
       {.count = 1, .milli = 250, .memory_mib = 4096}},
      {{{"stowage.dev/gpu", "2"}, {"stowage.dev/gpu-core", "30"}},
       {.count = 2, .milli = 300, .memory_mib = core::kMemoryWithCore}},
      {{{"stowage.dev/gpu-core", "100"}}, {.count = 1, .milli = 1000}},
      {{{"stowage.dev/gpu", "0"}, {"stowage.dev/gpu-core", "1"}},
       {.count = 1, .milli = 10, .memory_mib = core::kMemoryWithCore}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(asks_of(pod({container("main", row.amounts)})), std::vector<GpuRequest>{row.ask});
  }
}

TEST(Native, AShareOfComputeTakesNoMemoryWhereTheProfileSaysSo) {
  const ReadOptions none{.memory_with_core = MemoryWithCore::none};
  EXPECT_EQ(asks_of(pod({container("main", {{"stowage.dev/gpu-core", "50"}})}), none),
            (std::vector<GpuRequest>{{.count = 1, .milli = 500}}));
}

TEST(Nvidia, ReadsCardsAndTheirModel) {
  auto object = pod({container("main", {{"nvidia.com/gpu", "2"}}), container("side", {})});
  EXPECT_EQ(asks_of(object), (std::vector<GpuRequest>{{.count = 2}, {}}));
  object.annotations["nvidia.com/gpu.model"] = " tesla t4 ";
  EXPECT_EQ(asks_of(object)[0].filter, (core::CardFilter{.models_any = {"tesla t4", "tesla-t4"}}));
  EXPECT_TRUE(core::accepts_model(asks_of(object)[0].filter, "Tesla T4"));
  EXPECT_TRUE(core::accepts_model(asks_of(object)[0].filter, "Tesla-T4"));
  EXPECT_FALSE(core::accepts_model(asks_of(object)[0].filter, "Tesla T40"));
  object.annotations["nvidia.com/gpu.model"] = "  ";
  EXPECT_TRUE(asks_of(object)[0].filter.models_any.empty());
}

TEST(Nvidia, KnowsAnOlderAndANewerKeyOfTheModel) {
  auto object = pod({container("main", {{"nvidia.com/gpu", "1"}})});
  object.annotations["nvidia-gpu-scheduler/gpu.model"] = "a100";
  EXPECT_EQ(asks_of(object)[0].filter.models_any, std::vector<std::string>{"a100"});
  object.annotations["nvidia.com/gpu.model"] = " a100 ";
  EXPECT_EQ(asks_of(object)[0].filter.models_any, std::vector<std::string>{"a100"});
  object.annotations["nvidia.com/gpu.model"] = "h100";
  EXPECT_EQ(
      error_of(object),
      "pod ml/train: annotations nvidia.com/gpu.model and nvidia-gpu-scheduler/gpu.model name "
      "two models; keep one of them");
  object.node = "n1";  // it already has its cards
  EXPECT_EQ(error_of(object), "no error");
}

TEST(Nvidia, IsPlacedByNumberWhereCardsAreNotKnown) {
  const auto naming = [](const char* resource) {
    const auto spec = to_spec(pod({container("main", {{resource, "100"}})}), {});
    return spec ? spec->naming : core::Naming::never;
  };
  EXPECT_EQ(to_spec(pod({container("main", {{"nvidia.com/gpu", "1"}})}), {})->naming,
            core::Naming::if_known);
  for (const char* resource : {"tencent.com/vcuda-core", "elasticgpu.io/gpu-core",
                               "nano-gpu/gpu-percent", "stowage.dev/gpu-core"}) {
    EXPECT_EQ(naming(resource), core::Naming::always) << resource;
  }
}

// As in gpu-admission.
TEST(Vcuda, ReadsSharesAndWholeCards) {
  const struct {
    const char* core;
    const char* memory;
    GpuRequest ask;
  } rows[] = {
      {"10", "1", {.count = 1, .milli = 100, .memory_mib = 256}},
      {"80", "3", {.count = 1, .milli = 800, .memory_mib = 768}},
      {"100", "3", {.count = 1}},  // a whole card has all its memory
      {"200", "10", {.count = 2}},
      {"300", "0", {.count = 3}},
      {"0", "0", {}},
  };
  for (const auto& row : rows) {
    const auto object = pod({container(
        "c", {{"tencent.com/vcuda-core", row.core}, {"tencent.com/vcuda-memory", row.memory}})});
    const auto reading = read(object, {});
    ASSERT_TRUE(reading) << reading.error().message;
    ASSERT_EQ(reading->has_value(), row.ask.count > 0);
    if (*reading) {
      EXPECT_EQ((*reading)->dialect, "vcuda");
      EXPECT_EQ((*reading)->asks[0], row.ask) << row.core;
    }
  }
}

TEST(Vcuda, RefusesAShareWithoutMemoryAndSaysWhatToWrite) {
  const char* words =
      "pod ml/train container \"a\" asks for 60 of tencent.com/vcuda-core but for no "
      "tencent.com/vcuda-memory; write how many times 256 MiB it needs, or ask for 100, a whole "
      "card";
  // Their sum would be a whole card, but each is a share.
  const auto both = pod({container("a", {{"tencent.com/vcuda-core", "60"}}),
                         container("b", {{"tencent.com/vcuda-core", "60"}})});
  EXPECT_EQ(error_of(both), words);
  EXPECT_EQ(error_of(pod({container("a", {{"tencent.com/vcuda-memory", "4"}})})),
            "pod ml/train container \"a\" asks for tencent.com/vcuda-memory but for no "
            "tencent.com/vcuda-core; write 1 to 99 for a share of a card");
}

TEST(Vcuda, RefusesPartsBeyondWholeCardsUnlessFlooringIsSet) {
  const auto object = pod({container("c", {{"tencent.com/vcuda-core", "150"}})});
  EXPECT_EQ(error_of(object),
            "pod ml/train container \"c\" asks for 150 of tencent.com/vcuda-core; write 100 or 200 "
            "for whole cards, or less than 100 for a share of one");
  EXPECT_EQ(asks_of(object, {.floor_whole_cards = true}), std::vector<GpuRequest>{{.count = 1}});
}

TEST(Vcuda, HasASpellingWithMemoryInMibAndAChoiceOfModels) {
  auto object =
      pod({container("c", {{"nvidia.com/vcuda-core", "20"}, {"nvidia.com/vcuda-memory", "1000"}})});
  object.annotations["nvidia.com/use-gputype"] = "a10,t4";
  object.annotations["nvidia.com/nouse-gputype"] = "a100";
  const auto ask = asks_of(object).at(0);
  EXPECT_EQ(ask.milli, 200);
  EXPECT_EQ(ask.memory_mib, 1000);
  EXPECT_TRUE(core::accepts_model(ask.filter, "NVIDIA A10"));
  EXPECT_FALSE(core::accepts_model(ask.filter, "NVIDIA A100-SXM4-40GB"));
  EXPECT_FALSE(core::accepts_model(ask.filter, "NVIDIA H100"));
}

// As in elastic-gpu-scheduler.
TEST(Elastic, ReadsSharesAndWholeCards) {
  const struct {
    const char* core;
    const char* memory;
    GpuRequest ask;
  } rows[] = {
      {"0", "256", {.count = 1, .memory_mib = 256}},
      {"0", "4", {.count = 1, .memory_mib = 4}},
      {"50", "1024", {.count = 1, .milli = 500, .memory_mib = 1024}},
      {"50", "0", {.count = 1, .milli = 500}},
      {"100", "0", {.count = 1}},
      {"150", "512", {.count = 1}},
      {"200", "0", {.count = 2}},
  };
  for (const auto& row : rows) {
    for (const std::string domain : {"elasticgpu.io", "elasticgpu.com"}) {
      const auto object = pod({container("c", {{(domain + "/gpu-core").c_str(), row.core},
                                               {(domain + "/gpu-memory").c_str(), row.memory}})});
      EXPECT_EQ(asks_of(object, {.floor_whole_cards = true}), std::vector<GpuRequest>{row.ask});
    }
  }
  // A container without a request gets nothing.
  const auto two =
      pod({container("side", {}), container("c", {{"elasticgpu.io/gpu-memory", "6"}})});
  EXPECT_EQ(asks_of(two), (std::vector<GpuRequest>{{}, {.count = 1, .memory_mib = 6}}));
  EXPECT_NE(error_of(pod({container("c", {{"elasticgpu.io/gpu-core", "150"}})})), "no error");
}

// As in nano-gpu.
TEST(Nano, ReadsPercentOfACard) {
  const auto object = pod({container("a", {{"nano-gpu/gpu-percent", "0"}}),
                           container("b", {{"nano-gpu/gpu-percent", "40"}}), container("c", {}),
                           container("d", {{"nano-gpu/gpu-percent", "100"}}),
                           container("e", {{"nano-gpu/gpu-percent", "300"}})});
  const auto reading = read(object, {});
  ASSERT_TRUE(reading && *reading);
  EXPECT_EQ((*reading)->dialect, "nano");
  EXPECT_EQ((*reading)->asks, (std::vector<GpuRequest>{
                                  {}, {.count = 1, .milli = 400}, {}, {.count = 1}, {.count = 3}}));
  EXPECT_FALSE(read(pod({container("a", {{"nano-gpu/gpu-percent", "0"}})}), {})->has_value());
  const auto part = pod({container("c", {{"nano-gpu/gpu-percent", "150"}})});
  EXPECT_EQ(
      error_of(part),
      "pod ml/train container \"c\" asks for 150 of nano-gpu/gpu-percent; write 100 or 200 for "
      "whole cards, or less than 100 for a share of one");
  EXPECT_EQ(asks_of(part, {.floor_whole_cards = true}), std::vector<GpuRequest>{{.count = 1}});
}

// As in Alnair: the whole pod is on one card.
TEST(Alnair, PutsTheSumOnOneContainerAndTheOthersFollow) {
  const auto object =
      pod({container("side", {}), container("a", {{"alnair/vgpu-memory", "8"}}),
           container("b", {{"alnair/vgpu-memory", "8"}, {"alnair/vgpu-compute", "30"}})});
  const auto reading = read(object, {});
  ASSERT_TRUE(reading && *reading);
  EXPECT_EQ((*reading)->dialect, "alnair");
  EXPECT_EQ((*reading)->asks,
            (std::vector<GpuRequest>{{}, {.count = 1, .milli = 300, .memory_mib = 16384}, {}}));
  EXPECT_EQ((*reading)->followers, std::vector<std::size_t>{2});
}

TEST(Alnair, CountsInitContainersAtTheLargestMoment) {
  auto init = container("init", {{"alnair/vgpu-memory", "10"}});
  init.init = true;
  auto sidecar = container("sidecar", {{"alnair/vgpu-memory", "1"}});
  sidecar.init = true;
  sidecar.sidecar = true;
  const auto app = container("app", {{"alnair/vgpu-memory", "4"}});
  // The sidecar runs together with the app; the init container ended before the sidecar started.
  EXPECT_EQ(asks_of(pod({init, sidecar, app}))[2].memory_mib, 10 * 1024);
  EXPECT_EQ(asks_of(pod({sidecar, init, app}))[2].memory_mib, 11 * 1024);
  EXPECT_EQ(asks_of(pod({sidecar, app}))[1].memory_mib, 5 * 1024);
}

TEST(Alnair, RefusesWhatDoesNotFitOneCard) {
  EXPECT_EQ(
      error_of(pod({container("a", {{"alnair/vgpu-memory", "1"}, {"alnair/vgpu-compute", "60"}}),
                    container("b", {{"alnair/vgpu-compute", "60"}})})),
      "the containers of pod ml/train ask for 120 percent and 1 GiB together; they must fit "
      "one card");
  EXPECT_EQ(error_of(pod({container("a", {{"alnair/vgpu-compute", "60"}})})),
            "pod ml/train asks for alnair/vgpu-compute but for no alnair/vgpu-memory; write how "
            "many GiB it needs");
}

TEST(Dialects, RefuseAmountsThatCanNotBe) {
  const struct {
    const char* resource;
    const char* amount;
    const char* words;
  } rows[] = {
      {"nvidia.com/gpu", "0.5",
       "pod ml/train container \"c\": nvidia.com/gpu is 0.5; write a whole number of zero or more"},
      {"nvidia.com/gpu", "-1",
       "pod ml/train container \"c\": nvidia.com/gpu is -1; write a whole number of zero or more"},
      {"nvidia.com/gpu", "65",
       "pod ml/train container \"c\" asks for 65 cards; a node has at most 64"},
      {"nvidia.com/gpu", "1e30",
       "pod ml/train container \"c\": nvidia.com/gpu: 100000000000000000000000000000 or more is "
       "too large; the maximum is 9223372036854775807"},
      {"tencent.com/vcuda-core", "6500",
       "pod ml/train container \"c\" asks for 6500 of tencent.com/vcuda-core, that is 65 cards; a "
       "node has at most 64"},
      {"stowage.dev/gpu", "5000000000",
       "pod ml/train container \"c\" asks for 5000000000 cards; a node has at most 64"},
      {"stowage.dev/gpu-core", "150",
       "pod ml/train container \"c\": stowage.dev/gpu-core is 150, but a card has 100 percent; ask "
       "for more cards with stowage.dev/gpu"},
      {"stowage.dev/gpu-memory", "5Ti",
       "pod ml/train container \"c\" asks for 5497558138880 of stowage.dev/gpu-memory; one is 1 "
       "MiB, and no card has that much memory"},
      {"alnair/vgpu-memory", "8Gi",
       "pod ml/train container \"c\" asks for 8589934592 of alnair/vgpu-memory; one is 1024 MiB, "
       "and no card has that much memory"},
      {"nano-gpu/gpu-percent", "0.5",
       "pod ml/train container \"c\": nano-gpu/gpu-percent is 0.5; write a whole number of zero or "
       "more"},
      {"nvidia.com/vgpu-number", "-1",
       "pod ml/train container \"c\": nvidia.com/vgpu-number is -1; write a whole number of zero "
       "or "
       "more"},
      {"alnair/vgpu-compute", "101",
       "pod ml/train container \"c\": alnair/vgpu-compute is 101; a card has 100"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(error_of(pod({container("c", {{row.resource, row.amount}})})), row.words);
  }
}

TEST(Dialects, RefuseAResourceUnderOurNameThatDoesNotExist) {
  EXPECT_EQ(
      error_of(pod({container("c", {{"stowage.dev/gpu-cores", "50"}})})),
      "pod ml/train container \"c\": there is no resource stowage.dev/gpu-cores; did you mean "
      "stowage.dev/gpu-core?");
  EXPECT_EQ(error_of(pod({container("c", {{"stowage.dev/bandwidth", "1"}})})),
            "pod ml/train container \"c\": there is no resource stowage.dev/bandwidth; there are "
            "stowage.dev/gpu, stowage.dev/gpu-core, stowage.dev/gpu-memory");
  EXPECT_EQ(
      error_of(pod({container("c", {{"stowage.dev/gpu", "1"}, {"stowage.dev/attachment", "1"}}),
                    container("d", {{"stowage.dev/init-attachment", "2"}})})),
      "no error");
  PodObject bound = pod({container("c", {{"stowage.dev/gpu-cores", "50"}})});
  bound.node = "n1";
  EXPECT_EQ(error_of(bound), "no error") << "it runs, whoever has placed it";
}

TEST(Dialects, RefuseAPodThatMixesThem) {
  EXPECT_EQ(error_of(pod({container("a", {{"nvidia.com/gpu", "1"}}),
                          container("b", {{"tencent.com/vcuda-core", "100"}})})),
            "pod ml/train asks for cards in two ways, with nvidia.com/gpu and with "
            "tencent.com/vcuda-core; keep one of them");
  EXPECT_EQ(error_of(pod({container("a", {{"nvidia.com/vgpu-number", "1"}}),
                          container("b", {{"nvidia.com/vcuda-core", "100"}})})),
            "pod ml/train asks for cards in two ways, with nvidia.com/vgpu-number and with "
            "nvidia.com/vcuda-core; keep one of them");
  EXPECT_EQ(error_of(pod({container(
                "a", {{"elasticgpu.io/gpu-core", "1"}, {"nano-gpu/gpu-percent", "1"}})})),
            "pod ml/train asks for cards in two ways, with elasticgpu.io/gpu-core and with "
            "nano-gpu/gpu-percent; keep one of them");
  EXPECT_EQ(error_of(pod({container("a", {{"nvidia.com/gpu", "1"},
                                          {"stowage.dev/gpu", "1"},
                                          {"tencent.com/vcuda-core", "100"}})})),
            "pod ml/train asks for cards in 3 ways, with stowage.dev/gpu, with nvidia.com/gpu and "
            "with tencent.com/vcuda-core; keep one of them");
  // An amount of zero is no request.
  EXPECT_EQ(
      error_of(pod({container("a", {{"nvidia.com/gpu", "1"}, {"tencent.com/vcuda-core", "0"}})})),
      "no error");
}

TEST(PodToSpec, FillsInEverything) {
  auto init = container("init", {{"cpu", "1500m"}});
  init.init = true;
  auto sidecar = container("proxy", {{"cpu", "100m"}});
  sidecar.init = true;
  sidecar.sidecar = true;
  ContainerObject main = container("main", {{"cpu", "2"},
                                            {"memory", "1Gi"},
                                            {"ephemeral-storage", "10G"},
                                            {"hugepages-2Mi", "64Mi"},
                                            {"example.com/fpga", "1"},
                                            {"example.com/none", "0"},
                                            {"nvidia.com/gpu", "2"}});
  auto object = pod({init, sidecar, main});
  object.priority = 7;
  object.overhead = testing::quantities({{"cpu", "250m"}, {"memory", "120Mi"}});
  object.rules.selector = {{"pool", "gpu"}};
  const auto spec = to_spec(object, {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->uid, "u-1");
  EXPECT_EQ(spec->name, "ml/train");
  EXPECT_EQ(spec->priority, 7);
  EXPECT_EQ(spec->rules, object.rules);
  ASSERT_EQ(spec->containers.size(), 3U);
  EXPECT_EQ(spec->containers[0].phase, core::Phase::init);
  EXPECT_EQ(spec->containers[0].resources.cpu_milli, 1500);
  EXPECT_EQ(spec->containers[1].phase, core::Phase::sidecar);
  EXPECT_EQ(spec->containers[2].phase, core::Phase::app);
  EXPECT_EQ(spec->containers[2].resources,
            (core::Resources{.cpu_milli = 2000,
                             .memory_bytes = 1 << 30,
                             .ephemeral_bytes = 10'000'000'000,
                             .extended = {{"hugepages-2Mi", 64 << 20}, {"example.com/fpga", 1}}}));
  EXPECT_EQ(spec->containers[2].gpu.count, 2);
  EXPECT_EQ(spec->overhead, (core::Resources{.cpu_milli = 250, .memory_bytes = 120 << 20}));
}

TEST(PodToSpec, TakesALimitWhereThereIsNoRequest) {
  ContainerObject c{
      .name = "c",
      .requests = testing::quantities({{"cpu", "1"}}),
      .limits = testing::quantities({{"cpu", "1e30"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}})};
  const auto spec = to_spec(pod({c}), {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->containers[0].resources.cpu_milli, 1000);
  EXPECT_EQ(spec->containers[0].resources.memory_bytes, 1 << 30);
  EXPECT_EQ(spec->containers[0].gpu.count, 1);
}

TEST(PodToSpec, CountsWhatAContainerHasWhileItIsMadeSmaller) {
  auto c = container("c", {{"cpu", "1"}, {"memory", "4Gi"}, {"nvidia.com/gpu", "1"}});
  c.given = testing::quantities({{"cpu", "3"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}});
  const auto spec = to_spec(pod({c}), {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->containers[0].resources,
            (core::Resources{.cpu_milli = 3000, .memory_bytes = std::int64_t{4} << 30}));
}

TEST(PodToSpec, AResizeThatIsInfeasibleCountsWhatTheContainerHas) {
  auto c = container("c", {{"cpu", "9"}, {"example.com/fpga", "2"}, {"nvidia.com/gpu", "1"}});
  c.given = testing::quantities({{"cpu", "3"}, {"memory", "1Gi"}});
  c.only_given = true;
  const auto spec = to_spec(pod({c}), {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->containers[0].resources,
            (core::Resources{.cpu_milli = 3000, .memory_bytes = std::int64_t{1} << 30}));
  EXPECT_EQ(spec->containers[0].gpu.count, 1) << "cards are not resized";
}

TEST(PodToSpec, TakesTheRequestsOfThePodAsAWhole) {
  auto object = pod({container("c", {{"cpu", "1"}})});
  object.pod_requests = testing::quantities(
      {{"cpu", "2500m"}, {"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}, {"example.com/fpga", "7"}});
  const auto spec = to_spec(object, {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->pod_cpu_milli, 2500);
  EXPECT_EQ(spec->pod_memory_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(spec->pod_hugepages, (std::map<std::string, std::int64_t>{{"hugepages-2Mi", 4 << 20}}));
  object.pod_requests = testing::quantities({{"memory", "0"}});
  EXPECT_EQ(to_spec(object, {})->pod_cpu_milli, std::nullopt);
  EXPECT_EQ(to_spec(object, {})->pod_memory_bytes, 0);
  object.pod_requests = testing::quantities({{"cpu", "-1"}});
  EXPECT_EQ(error_of(object), "pod ml/train: cpu is -1; write zero or more");
}

TEST(PodToSpec, SetsTheFieldsForPreemption) {
  auto object = pod({container("c", {})});
  object.created = "1970-01-01T00:00:05Z";
  const auto plain = to_spec(object, {});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(plain->never_preempts || plain->leaving || plain->stays);
  EXPECT_EQ(plain->since, 5 * std::int64_t{1'000'000'000}) << "not started yet";
  object.started = "1970-01-01T00:00:07Z";
  object.never_preempts = true;
  object.deleting = true;
  object.nominated = "n3";
  object.annotations["kubernetes.io/config.mirror"] = "x";
  object.constraints.labels = {{"app", "web"}};
  object.constraints.ports = {{.protocol = "TCP", .port = 80}};
  const auto spec = to_spec(object, {});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_TRUE(spec->never_preempts && spec->leaving && spec->stays);
  EXPECT_EQ(spec->since, 7 * std::int64_t{1'000'000'000});
  EXPECT_EQ(spec->nominated, "n3");
  EXPECT_EQ(spec->constraints, object.constraints);
}

TEST(PodToSpec, RefusesAbsurdAmountsAndNamesThem) {
  EXPECT_EQ(error_of(pod({container("c", {{"memory", "1e30"}})})),
            "pod ml/train container \"c\": memory is 100000000000000000000000000000 or more; no "
            "node has that much");
  EXPECT_EQ(error_of(pod({container("c", {{"cpu", "-1"}})})),
            "pod ml/train container \"c\": cpu is -1; write zero or more");
  EXPECT_EQ(error_of(pod({container("c", {{"example.com/fpga", "500m"}})})),
            "pod ml/train container \"c\": example.com/fpga is 0.5; write a whole number");
  EXPECT_EQ(error_of(pod({container("c", {{"memory", "2Ei"}})})),
            "pod ml/train container \"c\": memory is too large: 2305843009213693952");
  auto object = pod({container("c", {})});
  object.overhead = testing::quantities({{"cpu", "-1m"}});
  EXPECT_EQ(error_of(object), "pod ml/train overhead: cpu is -0.001; write zero or more");
  object.overhead.clear();
  object.uid.clear();
  EXPECT_EQ(error_of(object), "pod \"ml/train\" has no uid");
}

}  // namespace
}  // namespace stowage::dialect
