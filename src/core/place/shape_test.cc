#include "core/place/shape.h"

#include <cstring>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

std::string key_of(const PodSpec& spec) {
  std::string key;
  append_shape_key(spec, key);
  return key;
}

TEST(Shape, ManyIdsAreAskedAsTheFilterIs) {
  const CardFilter filters[] = {
      {},
      {.ids_any = {" GPU-b ", "gpu-A", ""}},
      {.ids_none = {"Gpu-B", " "}},
      {.ids_any = {"gpu-a", "gpu-b"}, .ids_none = {"GPU-A"}},
      {.ids_any = {" ", ""}},
  };
  for (const CardFilter& filter : filters) {
    for (const std::string id : {"gpu-a", "GPU-B", " gpu-b", "gpu-c", ""}) {
      EXPECT_EQ(CardIds(filter).accept(id), accepts_id(filter, id)) << id;
    }
  }
}

TEST(Shape, TwinsDifferInNameAndPriorityOnly) {
  PodSpec twin = pod("other").milli(300).cpu_milli(100).priority(7);
  twin.containers[0].name = "another";
  EXPECT_EQ(key_of(pod("p").milli(300).cpu_milli(100)), key_of(twin));
  PodSpec overhead = pod("p").milli(300);
  overhead.overhead.cpu_milli = 100;
  EXPECT_EQ(key_of(overhead), key_of(twin)) << "it is the sum that counts";
  EXPECT_EQ(key_of(pod("p").milli(300).cpu_milli(100).extended("nic", 0)), key_of(twin));
}

TEST(Shape, EverythingThatAJudgementReadsIsInTheKey) {
  const std::pair<const char*, PodSpec> rows[] = {
      {"plain", pod("p").milli(300)},
      {"compute", pod("p").milli(301)},
      {"memory", pod("p").milli(300).memory_mib(1)},
      {"no memory is not unset memory", pod("p").milli(300).memory_mib(0)},
      {"all memory", pod("p").milli(300).whole_memory()},
      {"memory alone", pod("p").memory_mib(300)},
      {"count", pod("p").gpus(2).milli(300)},
      {"whole", pod("p").gpus(1)},
      {"whole by compute", pod("p").gpus(1).milli(1000)},
      {"cpu", pod("p").milli(300).cpu_milli(1)},
      {"node memory", pod("p").milli(300).memory_bytes(1)},
      {"extended", pod("p").milli(300).extended("nic", 1)},
      {"another extended", pod("p").milli(300).extended("nib", 1)},
      {"model", pod("p").milli(300).model("T4")},
      {"another model", pod("p").milli(300).model("A100")},
      {"card id", pod("p").milli(300).card_id("T4")},
      {"topology", pod("p").milli(300).topology(Topology::numa)},
      {"strict topology", pod("p").milli(300).topology(Topology::numa_strict)},
      {"phase", pod("p").init("i").milli(300)},
      {"sidecar", pod("p").sidecar("i").milli(300)},
      {"second container", pod("p").container("a").container("b").milli(300)},
      {"two containers", pod("p").container("a").milli(300).container("b").milli(300)},
      {"no card", pod("p")},
  };
  std::set<std::string> keys;
  for (const auto& [name, spec] : rows) EXPECT_TRUE(keys.insert(key_of(spec)).second) << name;
}

std::string bytes_of(std::int64_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A list of card ids whose bytes look like two more containers.
TEST(Shape, NoFilterPassesForAContainer) {
  PodSpec many = pod("many").container("a").milli(500);
  many.containers.push_back({.gpu = {.count = 1, .milli = 16, .memory_mib = 77}});
  many.containers.push_back({.gpu = {.count = 8, .milli = 900, .memory_mib = 1}});
  PodSpec liar = pod("liar").container("a").milli(500);
  CardFilter& filter = liar.containers[0].gpu.filter;
  filter.model_match = CardFilter::Match::contains;
  filter.models_none = {bytes_of(77) + bytes_of(0)};
  filter.ids_any = {"", bytes_of(900)};
  filter.ids_none = {""};
  EXPECT_NE(key_of(many), key_of(liar));
}

TEST(Shape, CountsWhatIsHeldAtOnce) {
  Ledger ledger;
  const PodSpec spec = pod("p")
                           .init("i")
                           .gpus(3)
                           .sidecar("s")
                           .milli(200)
                           .container("a")
                           .gpus(1)
                           .container("b")
                           .milli(300);
  const Shape shape = make_shape(spec, ledger);
  EXPECT_EQ(shape.cards, 4) << "the sidecar's, and three of the init container";
  EXPECT_EQ(shape.gpu_milli, 3200);
  EXPECT_EQ(shape.parts.size(), 4U);
  EXPECT_FALSE(shape.simple);
  EXPECT_TRUE(make_shape(pod("q").gpus(4), ledger).simple);
  EXPECT_TRUE(make_shape(pod("q").milli(100), ledger).share());
  EXPECT_FALSE(make_shape(pod("q").card_id("x").gpus(1), ledger).simple);
  EXPECT_FALSE(make_shape(pod("q").milli(1).whole_memory(), ledger).simple);
}

TEST(Shape, LearnsModelsThatComeLater) {
  Ledger ledger;
  ledger.upsert_node(node("a").cards(1).model("T4"));
  Shape shape = make_shape(pod("p").gpus(1).model("a100"), ledger);
  ledger.upsert_node(node("b").cards(1).model("A100"));
  shape.learn_names(ledger);
  const auto& models = ledger.names().models().names();
  ASSERT_EQ(shape.parts[0].model_ok.size(), models.size());
  for (std::size_t m = 0; m < models.size(); ++m) {
    EXPECT_EQ(shape.parts[0].model_ok[m] != 0, models[m] == "A100") << models[m];
  }
}

}  // namespace
}  // namespace stowage::core
