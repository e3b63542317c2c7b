#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::Card;
using testing::node;

NodeReading reading_of(const NodeObject& object) {
  auto reading = to_spec(object);
  EXPECT_TRUE(reading) << reading.error().message;
  return reading.value_or(NodeReading());
}

std::vector<Card> equal(int count, std::int32_t memory_mib, const std::string& model = "") {
  std::vector<Card> cards;
  for (int i = 0; i < count; ++i) {
    cards.push_back(
        {.id = "n1/" + std::to_string(i), .index = i, .model = model, .memory_mib = memory_mib});
  }
  return cards;
}

TEST(NodeToSpec, FillsInEverythingButCards) {
  auto object = node({{"cpu", "64"},
                      {"memory", "256Gi"},
                      {"ephemeral-storage", "500Gi"},
                      {"pods", "110"},
                      {"hugepages-2Mi", "0"},
                      {"example.com/fpga", "4"},
                      {"nvidia.com/gpu", "8"},
                      {"tencent.com/vcuda-core", "800"}});
  object.labels = {{"zone", "a"}};
  object.taints = {{.key = "gpu"}};
  object.unschedulable = true;
  const auto reading = reading_of(object);
  EXPECT_EQ(reading.node.name, "n1");
  EXPECT_EQ(reading.node.labels, object.labels);
  EXPECT_EQ(reading.node.taints, object.taints);
  EXPECT_FALSE(reading.node.schedulable);
  EXPECT_EQ(reading.node.allocatable, (core::Resources{.cpu_milli = 64000,
                                                       .memory_bytes = std::int64_t{256} << 30,
                                                       .ephemeral_bytes = std::int64_t{500} << 30,
                                                       .pods = 110,
                                                       .extended = {{"example.com/fpga", 4}}}));
  EXPECT_EQ(reading.node.cards.size(), 8U);  // the same cards, counted by two resources
  EXPECT_TRUE(reading.notes.empty()) << reading.notes.front();
}

TEST(Inventory, CountsCardsByTheResourcesOfEachDialect) {
  const struct {
    testing::Amounts allocatable;
    std::vector<Card> cards;
  } rows[] = {
      {{{"nvidia.com/gpu", "3"}}, equal(3, 0)},
      {{{"nvidia.com/gpu", "0"}}, {}},
      {{{"stowage.dev/gpu", "2"}, {"stowage.dev/gpu-memory", "32320"}}, equal(2, 16160)},
      {{{"stowage.dev/gpu-core", "200"}, {"stowage.dev/gpu-memory", "100"}}, equal(2, 50)},
      // As in gpu-admission: 8 units of 256 MiB on two cards.
      {{{"tencent.com/vcuda-core", "200"}, {"tencent.com/vcuda-memory", "8"}}, equal(2, 1024)},
      {{{"nvidia.com/vcuda-core", "200"}, {"nvidia.com/vcuda-memory", "8"}}, equal(2, 4)},
      // As in elastic-gpu-scheduler.
      {{{"elasticgpu.io/gpu-core", "400"}, {"elasticgpu.io/gpu-memory", "48"}}, equal(4, 12)},
      {{{"elasticgpu.io/gpu-core", "100"}, {"elasticgpu.io/gpu-memory", "15109"}}, equal(1, 15109)},
      {{{"elasticgpu.io/gpu-core", "250"}, {"elasticgpu.io/gpu-memory", "10"}}, equal(2, 5)},
      {{{"elasticgpu.com/gpu-core", "300"}, {"elasticgpu.com/gpu-memory", "10"}}, equal(3, 3)},
      {{{"alnair/vgpu-compute", "200"}, {"alnair/vgpu-memory", "32"}}, equal(2, 16384)},
      {{{"nano-gpu/gpu-percent", "800"}}, equal(8, 0)},
      {{{"nano-gpu/gpu-percent", "250"}}, equal(2, 0)},
      {{{"cpu", "4"}}, {}},
  };
  for (const auto& row : rows) {
    const auto reading = reading_of(node(row.allocatable));
    EXPECT_EQ(reading.node.cards, row.cards);
    EXPECT_TRUE(reading.node.allocatable.extended.empty());
    EXPECT_TRUE(reading.notes.empty());
  }
}

TEST(Inventory, TakesModelAndMemoryFromLabels) {
  auto object = node({{"nvidia.com/gpu", "2"}});
  object.labels = {{"nvidia.com/gpu.product", "Tesla-T4"}, {"nvidia.com/gpu.memory", "15109"}};
  EXPECT_EQ(reading_of(object).node.cards, equal(2, 15109, "Tesla-T4"));
  object.labels["nvidia.com/gpu.memory"] = "lots";
  object.labels["nvidia.com/gpu.replicas"] = "4";
  EXPECT_EQ(reading_of(object).node.cards, equal(2, 0, "Tesla-T4"));
  EXPECT_EQ(reading_of(object).notes.size(), 2U);
}

TEST(Inventory, FillsInFromLessTrustedSourcesWhatTheOthersLeaveOpen) {
  auto object = node({{"nvidia.com/gpu", "2"},
                      {"tencent.com/vcuda-core", "200"},
                      {"tencent.com/vcuda-memory", "118"}});
  object.labels = {{"nvidia.com/gpu.product", "Tesla-T4"}};
  EXPECT_EQ(reading_of(object).node.cards, equal(2, 15104, "Tesla-T4"));
  // A difference due to rounding to the unit of one source is no contradiction.
  object.labels["nvidia.com/gpu.memory"] = "15109";
  EXPECT_EQ(reading_of(object).node.cards, equal(2, 15109, "Tesla-T4"));
  EXPECT_TRUE(reading_of(object).notes.empty());
}

TEST(Inventory, OursTakesPrecedenceAndContradictionsAreNoted) {
  auto object = node({{"nvidia.com/gpu", "3"},
                      {"tencent.com/vcuda-core", "200"},
                      {"tencent.com/vcuda-memory", "8"}});
  object.labels = {{"nvidia.com/gpu.product", "Tesla-T4"}};
  object.annotations["stowage.dev/gpu-inventory"] = R"({"version":1,"cards":[
    {"id":"GPU-b","index":1,"model":"A10","memoryMiB":24564,"numa":1,"slots":4},
    {"id":"GPU-a","index":0,"memoryMiB":16000,"healthy":false}],"links":[[0,1,200]],"new":{}})";
  const auto reading = reading_of(object);
  EXPECT_EQ(
      reading.node.cards,
      (std::vector<Card>{
          {.id = "GPU-b", .index = 1, .model = "A10", .memory_mib = 24564, .slots = 4, .numa = 1},
          {.id = "GPU-a", .index = 0, .memory_mib = 16000, .healthy = false}}));
  EXPECT_EQ(reading.node.links.between(0, 1), 200);
  EXPECT_EQ(
      reading.notes,
      (std::vector<std::string>{
          "node n1: stowage.dev/gpu-inventory says 2 cards, nvidia.com/gpu says 3; the former "
          "counts",
          "node n1: card 1 has 24564 MiB by stowage.dev/gpu-inventory, 1024 MiB by "
          "tencent.com/vcuda-core; the former counts"}));
}

TEST(Inventory, OfOursThatCanNotBeReadIsIgnoredWithANote) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"", "not JSON: character 1 is unexpected"},
      {"[]", "expected a JSON object"},
      {"{}", "\"version\" is missing"},
      {R"({"version":"1"})", "\"version\" is not a whole number"},
      {R"({"version":2,"cards":[]})", "version 2 is not supported; write version 1"},
      {R"({"version":1})", "\"cards\" is missing or not an array"},
      {R"({"version":1,"cards":[7]})", "cards[0]: expected an object"},
      {R"({"version":1,"cards":[{"index":0}]})", "cards[0]: \"id\" is missing or empty"},
      {R"({"version":1,"cards":[{"id":5,"index":0}]})", "cards[0]: \"id\" is not a string"},
      {R"({"version":1,"cards":[{"id":"a"}]})", "cards[0]: \"index\" is missing"},
      {R"({"version":1,"cards":[{"id":"a","index":-1}]})",
       "cards[0]: \"index\" is not a whole number from 0 to 1048576"},
      {R"({"version":1,"cards":[{"id":"a","index":0,"memoryMiB":1e9}]})",
       "cards[0]: \"memoryMiB\" is not a whole number from 0 to 4194304"},
      {R"({"version":1,"cards":[{"id":"a","index":0,"healthy":1}]})",
       "cards[0]: \"healthy\" is not true or false"},
      {R"({"version":1,"cards":[{"id":"a","index":0},{"id":"a","index":1}]})",
       "two cards have the id a"},
      {R"({"version":1,"cards":[{"id":"a","index":0},{"id":"b","index":0}]})",
       "two cards have the index 0"},
      {R"({"version":1,"cards":[{"id":"a","index":0}],"links":[[0,1,5]]})",
       "\"links\" has an entry that is not [index of a card, index of another, score]"},
  };
  for (const auto& row : rows) {
    auto object = node({{"nvidia.com/gpu", "1"}});
    object.annotations["stowage.dev/gpu-inventory"] = row.text;
    const auto reading = reading_of(object);
    EXPECT_EQ(reading.node.cards, equal(1, 0)) << row.text;
    EXPECT_EQ(
        reading.notes,
        std::vector<std::string>{
            std::string("node n1: annotation stowage.dev/gpu-inventory is ignored: ") + row.words});
  }
}

TEST(Inventory, OursMaySayThatThereAreNoCards) {
  auto object = node({{"nvidia.com/gpu", "1"}});
  object.annotations["stowage.dev/gpu-inventory"] = R"({"version":1,"cards":[]})";
  EXPECT_TRUE(reading_of(object).node.cards.empty());
  EXPECT_EQ(reading_of(object).notes.size(), 1U);
}

// The number of chunks is the memory of a card in GiB, rounded.
TEST(Inventory, ReadsTheCardsOfAnAlnairAgentUnderBothSpellings) {
  for (const char* key :
       {"ai.centaurus.io/vitual-gpu-count", "ai.centaurus.io/virtual-gpu-count"}) {
    auto object = node({{"alnair/vgpu-memory", "27"}, {"alnair/vgpu-compute", "200"}});
    object.annotations = {{"ai.centaurus.io/physical-gpu-count", "2"},
                          {"ai.centaurus.io/physical-gpu-uuids", "GPU-a,GPU-b"},
                          {key, "16,11"}};
    const auto reading = reading_of(object);
    EXPECT_EQ(reading.node.cards,
              (std::vector<Card>{{.id = "GPU-a", .index = 0, .memory_mib = 16384},
                                 {.id = "GPU-b", .index = 1, .memory_mib = 11264}}));
  }
}

// The agent rounds to whole GiB; that difference is no contradiction to more exact sources.
TEST(Inventory, OfAnAlnairAgentIsRoundedToWholeGib) {
  const struct {
    std::int32_t mib;
    const char* chunks;
  } rows[] = {{11441, "11"}, {12066, "12"}, {15109, "15"},
              {16160, "16"}, {40536, "40"}, {512, "1"}};
  for (const auto& row : rows) {
    auto object = node({{"nvidia.com/gpu", "1"}});
    object.labels["nvidia.com/gpu.memory"] = std::to_string(row.mib);
    object.annotations = {{"ai.centaurus.io/physical-gpu-uuids", "GPU-a"},
                          {"ai.centaurus.io/virtual-gpu-count", row.chunks}};
    const auto reading = reading_of(object);
    EXPECT_EQ(reading.node.cards.at(0).memory_mib, std::stoi(row.chunks) * 1024) << row.mib;
    EXPECT_TRUE(reading.notes.empty()) << row.mib;
  }
}

TEST(Inventory, OfAnAlnairAgentMayBeIncomplete) {
  auto object = node({{"alnair/vgpu-memory", "32"}, {"alnair/vgpu-compute", "200"}});
  object.annotations["ai.centaurus.io/physical-gpu-uuids"] = "GPU-a,GPU-b";
  EXPECT_EQ(reading_of(object).node.cards[1].memory_mib, 16384);  // 32 over two cards
  object.annotations["ai.centaurus.io/vitual-gpu-count"] = "16";
  EXPECT_EQ(reading_of(object).node.cards[1].memory_mib, 16384);
  EXPECT_EQ(reading_of(object).notes.size(), 1U);
  object.annotations["ai.centaurus.io/vitual-gpu-count"] = "16,-5";
  EXPECT_EQ(reading_of(object).notes.size(), 1U);
  object.annotations["ai.centaurus.io/physical-gpu-uuids"] = "GPU-a,GPU-a";
  EXPECT_EQ(reading_of(object).node.cards, equal(2, 16384));

  auto only_memory = node({{"alnair/vgpu-memory", "32"}});
  EXPECT_TRUE(reading_of(only_memory).node.cards.empty());
  EXPECT_EQ(reading_of(only_memory).notes.size(), 1U);
  only_memory.annotations["ai.centaurus.io/physical-gpu-count"] = "2";
  EXPECT_EQ(reading_of(only_memory).node.cards, equal(2, 16384));
}

TEST(Inventory, ReadsTheRegisterOfAVcudaAgent) {
  auto object = node({{"nvidia.com/vcuda-core", "200"}, {"nvidia.com/vcuda-memory", "40000"}});
  object.annotations["tydic.io/nvidia-device-register"] = R"([
    {"id":0,"core":100,"memory":24564,"type":"NVIDIA A10","isMig":false,"health":true},
    {"id":1,"core":100,"memory":15109,"type":"Tesla T4","isMig":false,"health":false}])";
  const auto reading = reading_of(object);
  EXPECT_EQ(
      reading.node.cards,
      (std::vector<Card>{
          {.id = "n1/0", .index = 0, .model = "NVIDIA A10", .memory_mib = 24564},
          {.id = "n1/1", .index = 1, .model = "Tesla T4", .memory_mib = 15109, .healthy = false}}));
  for (const char* broken :
       {R"([{"id":0,"memory":-5}])", R"([{"id":0,"memory":5},{"id":0,"memory":5}])", "{}", ""}) {
    object.annotations["tydic.io/nvidia-device-register"] = broken;
    EXPECT_EQ(reading_of(object).node.cards, equal(2, 20000)) << broken;
    EXPECT_EQ(reading_of(object).notes.size(), 1U) << broken;
  }
}

TEST(Inventory, NonsenseIsTakenForNothingWithANote) {
  for (const char* amount : {"-1", "0.5", "1e30"}) {
    const auto reading = reading_of(node({{"nvidia.com/gpu", amount}}));
    EXPECT_TRUE(reading.node.cards.empty()) << amount;
    EXPECT_EQ(reading.notes.size(), 1U) << amount;
  }
  const auto many = reading_of(node({{"nvidia.com/gpu", "9000000000000000000"}}));
  EXPECT_EQ(many.node.cards.size(), 64U);
  EXPECT_EQ(many.notes,
            std::vector<std::string>{
                "node n1: nvidia.com/gpu counts more than 64 cards; the rest is not used"});
  const auto part = reading_of(node({{"elasticgpu.io/gpu-core", "99"}}));
  EXPECT_TRUE(part.node.cards.empty());
  EXPECT_EQ(part.notes, std::vector<std::string>{
                            "node n1: 99 of elasticgpu.io/gpu-core is less than one card, which is "
                            "100"});
  EXPECT_EQ(to_spec(node({{"memory", "1e30"}})).error().message,
            "node n1: allocatable memory is 100000000000000000000000000000 or more");
  EXPECT_FALSE(to_spec(NodeObject()));
}

// The cards of a node that has three, of which these are cordoned.
std::vector<bool> healthy_with(const std::string& cordoned, std::vector<std::string>& notes) {
  auto object = node({});
  object.annotations = {
      {"stowage.dev/gpu-inventory",
       R"({"version":1,"cards":[{"id":"GPU-a","index":0},{"id":"GPU-b","index":1},)"
       R"({"id":"GPU-c","index":7,"healthy":false}]})"},
      {"stowage.dev/cordoned-cards", cordoned}};
  const NodeReading reading = reading_of(object);
  notes = reading.notes;
  std::vector<bool> healthy;
  for (const Card& card : reading.node.cards) healthy.push_back(card.healthy);
  return healthy;
}

TEST(CordonedCards, GetNoPodsByIdOrIndex) {
  const struct {
    const char* cordoned;
    std::vector<bool> healthy;
    std::vector<std::string> notes;
  } rows[] = {
      {"", {true, true, false}, {}},
      {"GPU-b", {true, false, false}, {}},
      {" 0 ,, GPU-b,", {false, false, false}, {}},
      {"7", {true, true, false}, {}},  // unhealthy already
      {"2,GPU-a",
       {false, true, false},
       {R"(node n1: annotation stowage.dev/cordoned-cards: the node has no card "2")"}},
      {"gpu-a",
       {true, true, false},
       {R"(node n1: annotation stowage.dev/cordoned-cards: the node has no card "gpu-a")"}},
  };
  for (const auto& row : rows) {
    std::vector<std::string> notes;
    EXPECT_EQ(healthy_with(row.cordoned, notes), row.healthy) << row.cordoned;
    EXPECT_EQ(notes, row.notes) << row.cordoned;
  }
}

TEST(CordonedCards, OfALongListAreNotRead) {
  std::vector<std::string> notes;
  std::string many;
  for (int i = 0; i < 100; ++i) many += "x,";
  EXPECT_EQ(healthy_with(many + "0", notes), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(notes.size(), 65U);
  EXPECT_EQ(healthy_with("0," + std::string(9000, 'x'), notes),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(notes.size(), 1U);
}

TEST(CordonedCards, AreNotThoseThatAreOnlyCounted) {
  auto object = node({{"nvidia.com/gpu", "2"}});
  object.annotations = {{"stowage.dev/cordoned-cards", "1"}};
  const NodeReading reading = reading_of(object);
  EXPECT_TRUE(reading.node.cards[1].healthy);
  ASSERT_EQ(reading.notes.size(), 1U);
  EXPECT_NE(reading.notes[0].find("only counted"), std::string::npos);
}

TEST(Inventory, OfANodeWithoutAllocatableIsItsCapacity) {
  NodeObject object{.name = "n1",
                    .capacity = testing::quantities({{"cpu", "4"}, {"nvidia.com/gpu", "1"}})};
  EXPECT_EQ(reading_of(object).node.cards, equal(1, 0));
  EXPECT_EQ(reading_of(object).node.allocatable.cpu_milli, 4000);
}

RC_GTEST_PROP(Inventory, IsReadBackAsItWasWritten, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 9);
  std::vector<Card> cards;
  for (std::size_t i = 0; i < count; ++i) {
    cards.push_back({.id = "GPU-" + std::to_string(i) + *rc::gen::string<std::string>(),
                     .index = static_cast<std::int32_t>(count - i),
                     .model = *rc::gen::container<std::string>(rc::gen::inRange('\x20', '\x7f')),
                     .memory_mib = *rc::gen::inRange(0, core::kMaxCardMemoryMib + 1),
                     .slots = *rc::gen::inRange(0, 100),
                     .healthy = *rc::gen::arbitrary<bool>(),
                     .numa = *rc::gen::inRange(-1, 8)});
    for (char& c : cards.back().id) c = static_cast<char>(static_cast<unsigned char>(c) & 0x7FU);
  }
  core::LinkMatrix links;
  if (count > 1 && *rc::gen::arbitrary<bool>()) {
    links.cards = static_cast<std::int32_t>(count);
    links.score.resize(count * count);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        links.score[a * count + b] = links.score[b * count + a] = *rc::gen::inRange(0, 1800);
      }
    }
  }
  auto object = node({});
  object.annotations["stowage.dev/gpu-inventory"] = inventory_text(cards, links);
  const auto reading = to_spec(object);
  RC_ASSERT(reading);
  RC_ASSERT(reading->notes.empty());
  RC_ASSERT(reading->node.cards == cards);
  RC_ASSERT(reading->node.links == links);
}

}  // namespace
}  // namespace stowage::dialect
