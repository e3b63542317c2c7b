#include "local/demo/demo.h"

#include <set>

#include <gtest/gtest.h>

#include "local/demo/card_map.h"
#include "local/demo/workload.h"

namespace stowage::local {
namespace {

json::object parse(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? value->as_object() : json::object();
}

json::object node(const std::string& name, int cards) {
  std::string list;
  for (int i = 0; i < cards; ++i) {
    list += std::string(i == 0 ? "" : ",") + R"({"id":"GPU-)" + name + std::to_string(i) +
            R"(","index":)" + std::to_string(i) + R"(,"model":"T4","memoryMiB":1000})";
  }
  json::object object = parse(R"({"metadata":{"name":")" + name + R"(","annotations":{}},
      "status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  object["metadata"].as_object()["annotations"].as_object()["stowage.dev/gpu-inventory"] =
      R"({"version":1,"cards":[)" + list + "]}";
  return object;
}

json::object pod(const std::string& node_name, const std::string& card, int milli, int mib,
                 const std::string& phase = "Running") {
  json::object object =
      parse(R"({"metadata":{"annotations":{}},"spec":{"nodeName":")" + node_name +
            R"(","containers":[{"name":"c"}]},"status":{"phase":")" + phase + R"("}})");
  if (!card.empty()) {
    object["metadata"].as_object()["annotations"].as_object()["stowage.dev/gpus"] =
        R"({"version":1,"node":")" + node_name + R"(","containers":{"c":[{"id":")" + card +
        R"(","milli":)" + std::to_string(milli) + R"(,"memoryMiB":)" + std::to_string(mib) + "}]}}";
  }
  return object;
}

TEST(CardMap, UseIsAddedUpPerCardAndEndedPodsUseNothing) {
  const auto fills = fill_cards({node("b", 2), node("a", 1)},
                                {pod("b", "GPU-b1", 300, 500), pod("b", "GPU-b1", 200, 100),
                                 pod("b", "GPU-b0", 1000, 1000, "Succeeded"), pod("b", "", 0, 0),
                                 pod("", "", 0, 0), pod("gone", "GPU-x", 5, 5)});
  ASSERT_EQ(fills.size(), 2U);
  EXPECT_EQ(fills[0].name, "a");
  EXPECT_EQ(fills[1].pods, 3);
  EXPECT_EQ(fills[1].cards[0], (CardFill{"GPU-b0", 1000, 0, 0, 0}));
  EXPECT_EQ(fills[1].cards[1], (CardFill{"GPU-b1", 1000, 500, 600, 2}));
  EXPECT_EQ(fills[1].cards[1].percent(), 60);
}

TEST(CardMap, PercentIsNeverRoundedToEmptyOrFull) {
  EXPECT_EQ((CardFill{"x", 1000, 0, 0, 0}).percent(), 0);
  EXPECT_EQ((CardFill{"x", 1000, 1, 0, 1}).percent(), 1);
  EXPECT_EQ((CardFill{"x", 1000, 999, 0, 1}).percent(), 99);
  EXPECT_EQ((CardFill{"x", 1000, 1000, 0, 1}).percent(), 100);
  EXPECT_EQ((CardFill{"x", 1000, 1200, 0, 2}).percent(), 100);
  EXPECT_EQ((CardFill{"x", 0, 0, 0, 1}).percent(), 1) << "used, nobody knows how much";
}

TEST(CardMap, TheMapIsDrawnInPlainText) {
  const auto fills =
      fill_cards({node("n-1", 2), node("n-2", 1)},
                 {pod("n-1", "GPU-n-11", 500, 250), pod("n-2", "GPU-n-20", 1000, 1000)});
  EXPECT_EQ(render_card_map(fills, {}),
            "  node  cards  0    1     in use\n"
            "  n-1   T4     .    4 50    0.5 of 2, 1 pod\n"
            "  n-2   T4     #100           1 of 1, 1 pod\n"
            "  all: 1.5 of 3 cards in use (50 %), 1 untouched, 2 pods\n");
}

TEST(CardMap, ColoursAndBlocksOnlyWhereTheyAreWanted) {
  const auto fills = fill_cards({node("n", 1)}, {pod("n", "GPU-n0", 500, 0)});
  EXPECT_EQ(render_card_map(fills, {}).find('\033'), std::string::npos);
  EXPECT_NE(render_card_map(fills, {.colour = true}).find("\033[32m"), std::string::npos);
  EXPECT_NE(render_card_map(fills, {.unicode = true}).find("▄ 50"), std::string::npos);
}

TEST(CardMap, ManyNodesAreSummedUp) {
  const auto fills = fill_cards({node("a", 1), node("b", 1), node("c", 1)}, {});
  EXPECT_NE(render_card_map(fills, {.nodes_max = 1}).find("and 2 more nodes"), std::string::npos);
  EXPECT_NE(render_card_map({}, {}).find("0 of 0 cards"), std::string::npos);
}

NodeGroup group(int count, int gpus, const char* model) {
  NodeGroup result;
  result.count = count;
  result.gpus = gpus;
  if (gpus > 0) result.model = *find_card_model(model);
  return result;
}

TEST(DemoWorkload, FitsTheClusterAndNamesAreUnique) {
  for (const auto& [nodes, gpus] :
       {std::pair{16, 8}, std::pair{1, 1}, std::pair{2, 4}, std::pair{100, 8}, std::pair{3, 0}}) {
    const DemoWorkload work = make_demo_workload({group(nodes, gpus, "A100-80GB")});
    std::set<std::string> names;
    std::int64_t pods = 0;
    for (const DemoPart& part : work.parts) pods += part.pods;
    EXPECT_EQ(pods, work.pods);
    for (const DemoObject& object : work.objects) {
      EXPECT_TRUE(
          names.insert(object.path + std::string(text_at(object.body, "metadata.name"))).second);
    }
    EXPECT_TRUE(names.contains("/api/v1/namespaces/demo/podscolossus"));
  }
  EXPECT_GT(make_demo_workload({group(16, 8, "A100-80GB")}).pods, 120);
}

TEST(DemoWorkload, EveryPartIsThereOnAClusterOfTheUsualSize) {
  EXPECT_EQ(make_demo_workload({group(16, 8, "A100-80GB")}).parts.size(), 10U);
}

TEST(Progress, TheBarGrows) {
  EXPECT_EQ(progress_line(0, 10, {}), "  placed    0/10  ................................");
  EXPECT_EQ(progress_line(5, 10, {}), "  placed    5/10  ################................");
  EXPECT_EQ(progress_line(10, 10, {}), "  placed   10/10  ################################");
}

}  // namespace
}  // namespace stowage::local
