#include "metricsapi/watch_cache.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "metricsapi/render.h"
#include "metricsapi/testing/node_reports.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::Desk;
using testing::pod;

constexpr Resource kPods = Resource::pod_resources;
constexpr Resource kGpus = Resource::gpu_infos;

struct WatchCacheTest : ::testing::Test {
  void make(WatchCacheOptions options = {}) {
    watch_cache =
        std::make_unique<WatchCache>(options, desk.report_cache, [this] { return desk.now; });
  }
  [[nodiscard]] std::vector<std::string> names(Resource resource) const {
    std::vector<std::string> all;
    for (const WatchCache::Entry* entry : watch_cache->all(resource)) all.push_back(entry->name);
    return all;
  }
  // The changes after that version: "+n1", "-d.p".
  [[nodiscard]] std::vector<std::string> since(Resource resource, std::uint64_t version) const {
    std::vector<std::string> changes;
    while (const WatchCache::Entry* entry = watch_cache->next(resource, version)) {
      changes.push_back((entry->gone ? "-" : "+") + entry->name);
      version = entry->version;
    }
    return changes;
  }
  [[nodiscard]] ApiObject object(Resource resource, const std::string& name) const {
    return watch_cache->object(resource, *watch_cache->find(resource, name), desk.now);
  }
  using Names = std::vector<std::string>;

  Desk desk;
  std::unique_ptr<WatchCache> watch_cache;
};

TEST_F(WatchCacheTest, ShowsWhatTheBookHasBeenTold) {
  desk.cards("n2", {card("g2", 0, "T4")});
  desk.pods("n2", {pod("d", "before", {"g2"})});
  make();
  const std::uint64_t start = watch_cache->version();
  EXPECT_EQ(names(kGpus), Names{"n2"}) << "what was told before it came";
  EXPECT_EQ(names(kPods), Names{"d.before"});
  desk.cards("n1", {card("g1", 0, "T4")});
  desk.pods("n1", {pod("d", "p", {"g1"}), pod("d", "web", {"eth0"}, "x.dev/nic")});
  EXPECT_EQ(names(kGpus), (Names{"n1", "n2"}));
  EXPECT_EQ(names(kPods), (Names{"d.before", "d.p"}));
  EXPECT_EQ(since(kPods, start), Names{"+d.p"});
  EXPECT_EQ(since(kGpus, start), Names{"+n1"}) << "an object stands under its newest version";
  EXPECT_EQ(since(kGpus, watch_cache->version()), Names{});
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n1")).busy, Names{"g1"});
}

TEST_F(WatchCacheTest, VersionsBeginWithTheTime) {
  make();
  const std::uint64_t first = watch_cache->version();
  EXPECT_EQ(first, 1'800'000'000'000'000U);
  for (int i = 0; i < 1000; ++i) desk.update("n" + std::to_string(i));
  const std::uint64_t last = watch_cache->version();
  desk.pass(1s);
  make();
  EXPECT_GT(watch_cache->lost(kGpus), last) << "who comes with an older one must begin anew";
}

TEST_F(WatchCacheTest, AReplicaThatLeadsAgainStartsOver) {
  make();
  desk.update("n1");
  const std::uint64_t mine = watch_cache->version();
  desk.pass(10s);  // another replica leads meanwhile, with its own versions
  const std::uint64_t theirs = mine + 5;
  watch_cache->begin_term();
  EXPECT_GT(watch_cache->lost(kGpus), theirs);
  EXPECT_GT(watch_cache->lost(kPods), theirs);
  EXPECT_EQ(names(kGpus), Names{"n1"}) << "objects stay";
  desk.update("n2");
  EXPECT_EQ(since(kGpus, watch_cache->lost(kGpus)), Names{"+n2"});
}

TEST_F(WatchCacheTest, APodGoesAndTheOtherStays) {
  make();
  desk.cards("n1", {card("g1", 0, "T4"), card("g2", 1, "T4")});
  desk.pods("n1", {pod("d", "p1", {"g1"}), pod("d", "p2", {"g2"})}, true);
  const std::uint64_t before = watch_cache->version();
  desk.pass(1s);
  desk.gone("n1", {"d/p1"});
  EXPECT_EQ(names(kPods), Names{"d.p2"});
  EXPECT_EQ(since(kPods, before), Names{"-d.p1"});
  EXPECT_EQ(since(kGpus, before), Names{"+n1"}) << "its device is free";
  const WatchCache::Entry* grave = watch_cache->next(kPods, before);
  const auto last = std::get<PodResource>(watch_cache->object(kPods, *grave, desk.now));
  EXPECT_EQ(last, (PodResource{.ns = "d",
                               .name = "p1",
                               .node = "n1",
                               .containers = {},
                               .changed_unix = 1'800'000'001,
                               .version = grave->version}));
}

TEST_F(WatchCacheTest, CardsThatBecomeKnownChangeThePodsThatHaveThem) {
  make();
  desk.pods("n1", {pod("d", "p", {"g1"}, "x.dev/gpu")});
  EXPECT_EQ(names(kPods), Names{}) << "nobody knows that it is a card";
  desk.cards("n1", {card("g1", 0, "T4")});
  EXPECT_EQ(names(kPods), Names{"d.p"});
  desk.cards("n1", {card("g2", 0, "T4")});
  EXPECT_EQ(names(kPods), Names{});
}

TEST_F(WatchCacheTest, OfTwoNodesTheOneThatSpokeLastHasThePod) {
  make();
  for (const char* node : {"n1", "n2"}) {
    desk.cards(node, {card(std::string("g-") + node, 0, "T4")});
    desk.pods(node, {pod("d", "p", {std::string("g-") + node})});
  }
  const auto node = [&] { return std::get<PodResource>(object(kPods, "d.p")).node; };
  EXPECT_EQ(node(), "n2");
  const std::uint64_t before = watch_cache->version();
  desk.gone("n1", {"d/p"});
  EXPECT_EQ(node(), "n2");
  EXPECT_EQ(since(kPods, before), Names{}) << "n2 has it as before";
  desk.pods("n1", {pod("d", "p", {"g-n1"})});
  EXPECT_EQ(node(), "n1");
  desk.gone("n1", {"d/p"});
  EXPECT_EQ(node(), "n2") << "it has not said otherwise";
  desk.gone("n2", {"d/p"});
  EXPECT_EQ(names(kPods), Names{});
}

TEST_F(WatchCacheTest, LoadAloneIsNoNewsAllTheTime) {
  make({.load_every = 10s});
  desk.cards("n1", {card("g", 0, "T4")});
  const std::uint64_t before = watch_cache->version();
  desk.pass(2s);
  desk.busy("n1", 0, 100);
  EXPECT_EQ(since(kGpus, before), Names{});
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n1")).cards.at(0).load->busy_permille, 100)
      << "who asks gets the newest";
  desk.pass(8s);
  EXPECT_EQ(since(kGpus, before), Names{"+n1"}) << "it has been silent";
  const std::uint64_t silent = watch_cache->version();
  desk.busy("n1", 0, 200);
  EXPECT_EQ(since(kGpus, silent), Names{"+n1"});
  const std::uint64_t again = watch_cache->version();
  for (int i = 0; i < 10; ++i) {
    desk.pass(1s);
    desk.busy("n1", 0, 200 + i);
  }
  EXPECT_EQ(watch_cache->version(), again + 1);
}

TEST_F(WatchCacheTest, NodesThatOnlyOthersKnow) {
  make();
  desk.update("n1");
  watch_cache->set_others({{"n1", {}}, {"n5", {card("g", 0, "T4")}}, {"n6", {}}});
  EXPECT_EQ(names(kGpus), (Names{"n1", "n5", "n6"}));
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n1")).health, Health::fresh);
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n5")).health, Health::unknown);
  const std::uint64_t before = watch_cache->version();
  watch_cache->set_others({{"n1", {}}, {"n5", {card("g", 0, "T4")}}});
  EXPECT_EQ(since(kGpus, before), Names{"-n6"}) << "what is as it was is no news";
  desk.update("n5");
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n5")).health, Health::fresh);
  desk.report_cache.forget("n5");
  EXPECT_EQ(std::get<GpuInfo>(object(kGpus, "n5")).health, Health::unknown);
  watch_cache->set_others({});
  desk.report_cache.forget("n1");
  EXPECT_EQ(names(kGpus), Names{});
}

TEST_F(WatchCacheTest, ANodeThatIsForgottenTakesItsPodsWithIt) {
  make();
  desk.cards("n1", {card("g1", 0, "T4")});
  desk.pods("n1", {pod("d", "p", {"g1"})});
  desk.report_cache.forget("n1");
  EXPECT_EQ(names(kGpus), Names{});
  EXPECT_EQ(names(kPods), Names{});
}

TEST_F(WatchCacheTest, EndsAreRememberedForAWhile) {
  make({.gone_max = 2});
  desk.cards("n1", {card("g1", 0, "T4")});
  const std::uint64_t before = watch_cache->version();
  EXPECT_LE(watch_cache->lost(kPods), before);
  for (const char* name : {"a", "b", "c"}) desk.pods("n1", {pod("d", name, {"g1"})});
  desk.gone("n1", {"d/a"});
  const std::uint64_t first_end = watch_cache->version();
  desk.gone("n1", {"d/b"});
  EXPECT_LE(watch_cache->lost(kPods), before);
  desk.pods("n1", {pod("d", "b", {"g1"})});  // exists again: its deletion does not count any more
  desk.gone("n1", {"d/b"});
  EXPECT_GE(watch_cache->lost(kPods), first_end - 1) << "that of a is forgotten";
  EXPECT_EQ(since(kPods, before), (Names{"+d.c", "-d.b"}));
  EXPECT_LE(watch_cache->lost(kGpus), before);
}

// A reader that follows the versions at any pace, and starts again when it has missed something,
// ends with what a list shows.
TEST_F(WatchCacheTest, FollowersEndWhereListsAre) {
  base::Rng rng(11);
  make({.load_every = 1ms, .gone_max = 8});  // more than are deleted at once
  struct Follower {
    std::uint64_t seen = 0;
    std::uint64_t floor = 0;
    std::map<std::string, std::uint64_t> has;
    int restarts = 0;
  };
  Follower followers[3];
  const auto follow = [&](Follower& follower, std::size_t steps) {
    const std::uint64_t known = std::max(follower.seen, follower.floor);
    if (known < watch_cache->lost(kPods)) {
      ++follower.restarts;
      follower =
          Follower{.floor = watch_cache->version(), .has = {}, .restarts = follower.restarts};
    }
    for (; steps > 0; --steps) {
      const WatchCache::Entry* entry = watch_cache->next(kPods, follower.seen);
      if (entry == nullptr) {
        follower.seen = watch_cache->version();
        return;
      }
      follower.seen = entry->version;
      if (entry->gone) {
        follower.has.erase(entry->name);
      } else {
        follower.has[entry->name] = entry->version;
      }
    }
  };
  for (const char* node : {"n0", "n1", "n2"}) desk.cards(node, {card("g", 0, "T4")});
  for (int step = 0; step < 4000; ++step) {
    const std::string node = "n" + std::to_string(rng.below(3));
    const std::string name = "p" + std::to_string(rng.below(6));
    switch (rng.below(4)) {
      case 0: desk.gone(node, {"d/" + name}); break;
      case 1: desk.pods(node, {pod("d", name, {"g"})}, true); break;
      case 2:
        desk.report_cache.forget(node);
        desk.cards(node, {card("g", 0, "T4")});
        break;
      default: desk.pods(node, {pod("d", name, {"g::" + std::to_string(step)})}); break;
    }
    follow(followers[0], 100);
    if (rng.below(5) == 0) follow(followers[1], 2);
    if (rng.below(100) == 0) follow(followers[2], 1);
  }
  std::map<std::string, std::uint64_t> listed;
  for (const WatchCache::Entry* entry : watch_cache->all(kPods))
    listed[entry->name] = entry->version;
  for (Follower& follower : followers) {
    follow(follower, 1000);
    EXPECT_EQ(follower.has, listed);
  }
  EXPECT_EQ(followers[0].restarts, 1) << "at its beginning";
  EXPECT_GT(followers[2].restarts, 1);
}

TEST_F(WatchCacheTest, ListsAreRenderedInBothStyles) {
  make();
  desk.cards("n1", {card("g1", 0, "T4")});
  desk.update("n2");
  const std::string version = std::to_string(watch_cache->version());
  const auto list = [&](Style style, Form form, Selector selector = {}) {
    return render_list(*watch_cache, {.resource = kGpus, .style = style, .form = form}, selector);
  };
  EXPECT_TRUE(
      list(Style::original, Form::object)
          .starts_with(R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":")" +
                       version + R"("},"items":[{"kind":"GpuInfo","apiVersion":"v1alpha1")"));
  EXPECT_TRUE(
      list(Style::kubernetes, Form::object)
          .starts_with(R"({"kind":"GpuInfoList","apiVersion":"metrics.nvidia.com/v1alpha1",)"));
  const std::string table = list(Style::kubernetes, Form::table);
  EXPECT_TRUE(table.starts_with(R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{)"
                                R"("resourceVersion":")" +
                                version + R"("},"columnDefinitions":[{"name":"Name",)"))
      << table;
  EXPECT_NE(table.find(R"("rows":[{"cells":["n1",)"), std::string::npos);
  EXPECT_EQ(list(Style::original, Form::object, {.rules = {{.name = "n9"}}}),
            R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
                R"("},"items":[]})");
  EXPECT_EQ(list(Style::original, Form::object), list(Style::original, Form::object));
}

}  // namespace
}  // namespace stowage::metricsapi
