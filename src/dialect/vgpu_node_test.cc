// A node as the vgpu agent describes it.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::Card;

constexpr const char* kRegister = "nvidia.com/node-device-register";
constexpr const char* kConfig = "nvidia.com/node-config-info";
constexpr const char* kTopology = "nvidia.com/node-device-topology";
constexpr const char* kGoodConfig =
    R"({"deviceSplit":1,"coresScaling":1,"memoryFactor":1,"memoryScaling":1})";

NodeReading reading_of(const NodeObject& object) {
  auto reading = to_spec(object);
  EXPECT_TRUE(reading) << reading.error().message;
  return reading.value_or(NodeReading());
}

NodeObject with(Annotations annotations, const char* number = "1") {
  auto object = testing::node({{"nvidia.com/vgpu-number", number}});
  object.annotations = std::move(annotations);
  return object;
}

bool offers(const NodeReading& reading, const std::string& name) {
  const auto& names = reading.node.offers;
  return std::find(names.begin(), names.end(), name) != names.end();
}

// As in vgpu-manager.
TEST(VgpuNode, ServesOnlyWithAReadableRegisterAndConfig) {
  const struct {
    const char* name;
    NodeObject object;
    bool serves;
    std::size_t notes;
  } rows[] = {
      {"config is empty", with({{kConfig, ""}, {kRegister, "[]"}}), false, 1},
      {"config is nonsense", with({{kConfig, "xxxxxxxxx"}, {kRegister, "[]"}}), false, 1},
      {"no config", with({{kRegister, "[]"}}), false, 1},
      {"nothing allocatable", with({{kConfig, "{}"}, {kRegister, "[]"}}, "0"), false, 0},
      {"no register", with({{kConfig, kGoodConfig}}), false, 1},
      {"register is nonsense", with({{kConfig, kGoodConfig}, {kRegister, "xxx"}}), false, 2},
      {"memory factor 0",
       with({{kConfig, R"({"deviceSplit":1,"memoryFactor":0})"}, {kRegister, "[]"}}), false, 1},
      {"all is well", with({{kConfig, kGoodConfig}, {kRegister, "[]"}}), true, 0},
  };
  for (const auto& row : rows) {
    const auto reading = reading_of(row.object);
    EXPECT_EQ(offers(reading, "vgpu"), row.serves) << row.name;
    EXPECT_EQ(reading.notes.size(), row.notes) << row.name;
  }
  EXPECT_EQ(
      reading_of(with({{kRegister, "[]"}, {kConfig, R"({"memoryFactor":-1})"}})).notes,
      std::vector<std::string>{"node n1: annotation nvidia.com/node-config-info cannot be read "
                               "(\"memoryFactor\" is not a whole number from 1 to 4194304); no pod "
                               "that asks for nvidia.com/vgpu-number is placed here"});
}

TEST(VgpuNode, OffersItsUnitOfMemoryAndItsKind) {
  const auto names = [](const char* config) {
    return reading_of(with({{kConfig, config}, {kRegister, "[]"}})).node.offers;
  };
  EXPECT_EQ(
      names(R"({"memoryFactor":1024,"memoryScaling":1})"),
      (std::vector<std::string>{"vgpu", "vgpu/physical", "vgpu/1024MiB", "vgpu/1024MiB/physical"}));
  EXPECT_EQ(names(R"({"memoryFactor":1,"memoryScaling":1.5})"),
            (std::vector<std::string>{"vgpu", "vgpu/virtual", "vgpu/1MiB", "vgpu/1MiB/virtual"}));
  EXPECT_EQ(names(R"({"memoryFactor":1})").size(), 4U);
  EXPECT_TRUE(names(R"({"memoryFactor":1,"memoryScaling":"2"})").empty());
}

// As in vgpu-manager.
TEST(VgpuNode, HasTheCardsOfItsRegister) {
  const auto object = with({{kConfig, kGoodConfig}, {kRegister, R"([
    {"id":0,"type":"RTX3080Ti","uuid":"GPU-a","core":100,"memory":12288,"number":10,"numa":0,
     "mig":false,"busId":"0000:01","capability":8.6,"healthy":true},
    {"id":1,"type":"RTX4080Ti","uuid":"GPU-b","core":100,"memory":20480,"number":10,"numa":1,
     "mig":true,"healthy":true},
    {"id":2,"type":"RTX4080Ti","uuid":"GPU-c","memory":20480,"number":10,"healthy":false},
    {"id":3,"type":"RTX4080Ti","uuid":"GPU-d","memory":20480,"number":0}])"}},
                           "40");
  const auto reading = reading_of(object);
  EXPECT_TRUE(reading.notes.empty());
  EXPECT_EQ(reading.node.cards, (std::vector<Card>{{.id = "GPU-a",
                                                    .index = 0,
                                                    .model = "RTX3080Ti",
                                                    .memory_mib = 12288,
                                                    .slots = 10,
                                                    .numa = 0},
                                                   {.id = "GPU-b",
                                                    .index = 1,
                                                    .model = "RTX4080Ti",
                                                    .memory_mib = 20480,
                                                    .slots = 10,
                                                    .healthy = false,
                                                    .numa = 1},
                                                   {.id = "GPU-c",
                                                    .index = 2,
                                                    .model = "RTX4080Ti",
                                                    .memory_mib = 20480,
                                                    .slots = 10,
                                                    .healthy = false},
                                                   {.id = "GPU-d",
                                                    .index = 3,
                                                    .model = "RTX4080Ti",
                                                    .memory_mib = 20480,
                                                    .healthy = false}}));
  EXPECT_TRUE(reading.node.allocatable.extended.empty());
}

TEST(VgpuNode, WithABrokenRegisterHasNoCardsFromIt) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"{}", "expected a JSON array"},
      {"[7]", "an entry is not an object"},
      {R"([{"id":0,"memory":1,"number":1}])", "\"uuid\" is missing or empty"},
      {R"([{"uuid":"g","memory":1,"number":1}])", "\"id\" is missing"},
      {R"([{"id":0,"uuid":"g","memory":-1,"number":1}])",
       "\"memory\" is not a whole number from 0 to 4194304"},
      {R"([{"id":0,"uuid":"g","memory":1,"number":1,"healthy":"yes"}])",
       "\"healthy\" is not true or false"},
      {R"([{"id":0,"uuid":"g","memory":1,"number":1},{"id":1,"uuid":"g","memory":1,"number":1}])",
       "two cards have the id g"},
      {R"([{"id":0,"uuid":"g","memory":1,"number":1},{"id":0,"uuid":"h","memory":1,"number":1}])",
       "two cards have the index 0"},
  };
  for (const auto& row : rows) {
    const auto reading = reading_of(with({{kConfig, kGoodConfig}, {kRegister, row.text}}));
    EXPECT_TRUE(reading.node.cards.empty()) << row.text;
    EXPECT_FALSE(offers(reading, "vgpu")) << row.text;
    const std::string note =
        std::string("node n1: annotation nvidia.com/node-device-register is ignored: ") + row.words;
    EXPECT_NE(std::find(reading.notes.begin(), reading.notes.end(), note), reading.notes.end())
        << row.text;
  }
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many += fmt::format(R"({}{{"memory":1,"number":1,"id":{},"uuid":"g{}"}})", i == 0 ? '[' : ',',
                        i, i);
  }
  EXPECT_TRUE(
      reading_of(with({{kConfig, kGoodConfig}, {kRegister, many + "]"}})).node.cards.empty());
}

constexpr const char* kFour = R"([{"id":0,"uuid":"a","memory":1,"number":1},
  {"id":1,"uuid":"b","memory":1,"number":1},{"id":2,"uuid":"c","memory":1,"number":1},
  {"id":3,"uuid":"d","memory":1,"number":1}])";

// As in vgpu-manager: the scores of links.
TEST(VgpuNode, KnowsHowItsCardsAreConnected) {
  const auto reading = reading_of(with({{kConfig, kGoodConfig}, {kRegister, kFour}, {kTopology, R"([
    {"index":0,"links":{"1":[7],"2":[1],"3":[4]}},
    {"index":1,"links":{"0":[7,5],"2":[24],"3":[6]}},
    {"index":2,"links":{"3":[0]}},{"index":3}])"}}));
  EXPECT_TRUE(reading.notes.empty());
  const auto& links = reading.node.links;
  ASSERT_TRUE(links.known());
  EXPECT_EQ(links.between(0, 1), 150);  // the other end reports a second link
  EXPECT_EQ(links.between(1, 0), 150);
  EXPECT_EQ(links.between(0, 2), core::link::kCrossCpu);
  EXPECT_EQ(links.between(3, 0), core::link::kMultiSwitch);
  EXPECT_EQ(links.between(1, 2), 1800);
  EXPECT_EQ(links.between(1, 3), core::link::kSameBoard);
  EXPECT_EQ(links.between(2, 3), core::link::kNone);
}

TEST(VgpuNode, WithABrokenTopologyKeepsItsCards) {
  for (const char* text :
       {"", "{}", "[7]", R"([{"links":{}}])", R"([{"index":9}])",
        R"([{"index":0,"links":{"0":[7]}}])", R"([{"index":0,"links":{"9":[7]}}])",
        R"([{"index":0,"links":{"x":[7]}}])", R"([{"index":0,"links":{"1":7}}])",
        R"([{"index":0,"links":{"1":[25]}}])", R"([{"index":0,"links":{"1":[-1]}}])",
        R"([{"index":0,"links":[]}])"}) {
    const auto reading =
        reading_of(with({{kConfig, kGoodConfig}, {kRegister, kFour}, {kTopology, text}}));
    EXPECT_EQ(reading.node.cards.size(), 4U) << text;
    EXPECT_FALSE(reading.node.links.known()) << text;
    EXPECT_EQ(reading.notes.size(), 1U) << text;
    EXPECT_TRUE(offers(reading, "vgpu")) << text;
  }
}

}  // namespace
}  // namespace stowage::dialect
