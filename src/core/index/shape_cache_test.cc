// Compares lazily updated rankings with judgements of every node.
#include "core/index/shape_cache.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

constexpr std::size_t kSlice = 64;

// The model that is learned if only shares of this size arrive.
std::shared_ptr<const PolicyModel> model_for(std::int32_t milli) {
  Packing packing;
  packing.start({{milli, 0, 1.0}}, false);
  while (packing.running()) packing.step();
  auto price = std::make_shared<PriceModel>();
  price->value = packing.value();
  price->prepare();
  auto model = std::make_shared<PolicyModel>();
  model->price = std::move(price);
  return model;
}

class ShapeCacheTest : public ::testing::Test {
 protected:
  void add_nodes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ledger_.upsert_node(node("n" + std::to_string(i)).cards(2).memory_mib(1000));
    }
  }

  // A pod arrives or leaves somewhere.
  void change() {
    const NodeIndex where(static_cast<std::size_t>(rng_.below(ledger_.nodes().rows())));
    const std::string uid = "p" + std::to_string(rng_.below(500));
    if (ledger_.pods().find(uid).valid()) return ledger_.release(ledger_.pods().find(uid));
    const auto milli = static_cast<std::int32_t>(100 + 100 * rng_.below(5));
    const auto cards = ledger_.nodes().cards(where);
    if (!ledger_.nodes().present(where)) return;
    const auto card = static_cast<std::uint32_t>(rng_.below(cards.size()));
    if (cards[card].milli_free < milli) return;
    ledger_.reserve(pod(uid).milli(milli), where,
                    {.containers = {{{.card = card, .milli = milli, .memory_mib = 0}}}});
  }

  ShapeCache::Entry& entry_of(const PodSpec& spec) {
    std::string key;
    append_shape_key(spec, key);
    return cache_.find(key, [&] { return make_shape(spec, ledger_); });
  }

  // Checks that the ranking equals judgements of every node with the entry's model.
  void expect_right(ShapeCache::Entry& entry) {
    std::uint64_t feasible = 0;
    NodeIndex best;
    std::pair<std::uint64_t, std::uint32_t> least;
    for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) {
      const NodeIndex index(n);
      if (!ledger_.nodes().present(index)) continue;
      const Verdict verdict = judge(cache_.context(entry), entry.shape, index);
      if (verdict.reason.code != ReasonCode::none) continue;
      ++feasible;
      const std::pair key{verdict.cost, ledger_.nodes().order().rank(index)};
      if (best.valid() && least < key) continue;
      best = index;
      least = key;
    }
    ASSERT_EQ(entry.ranking.feasible(), feasible);
    ASSERT_EQ(entry.ranking.best(), best);
  }

  Ledger ledger_;
  PolicyOptions options_ = testing::policy("dual-price");
  ShapeCache cache_{ledger_, options_};
  base::Rng rng_{11};
};

TEST_F(ShapeCacheTest, JudgesOnlyNodesThatChanged) {
  add_nodes(50);
  const auto model = model_for(300);
  ShapeCache::Entry& entry = entry_of(pod("q").milli(700));
  cache_.refresh(entry, model);
  EXPECT_EQ(cache_.judged(), 50U);
  cache_.refresh(entry, model);
  EXPECT_EQ(cache_.judged(), 50U);
  for (int i = 0; i < 3; ++i) {
    const NodeIndex same(std::size_t{7});
    ledger_.reserve(pod("x" + std::to_string(i)).milli(100), same,
                    {.containers = {{{.card = 0, .milli = 100, .memory_mib = 0}}}});
  }
  cache_.refresh(entry, model);
  EXPECT_EQ(cache_.judged(), 51U) << "one node, once";
  expect_right(entry);
}

TEST_F(ShapeCacheTest, FollowsNodesAndPodsInASmallCluster) {
  add_nodes(70);
  const auto models = {model_for(300), model_for(470), model_for(300)};
  for (const auto& model : models) {
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 30; ++i) change();
      if (round == 3) ledger_.remove_node("n5");
      if (round == 5) ledger_.upsert_node(node("n5").cards(1));
      if (round == 7) ledger_.upsert_node(node("another" + std::to_string(rng_.next())).cards(1));
      for (const std::int32_t milli : {300, 700, 1000}) {
        ShapeCache::Entry& entry = entry_of(pod("q").milli(milli));
        cache_.refresh(entry, model);
        EXPECT_EQ(entry.model, model) << "a small cluster is judged anew at once";
        ASSERT_NO_FATAL_FAILURE(expect_right(entry));
      }
      cache_.work(kSlice);
    }
  }
}

TEST_F(ShapeCacheTest, CatchesUpAfterMoreChangesThanTheLogKeeps) {
  add_nodes(3);
  const auto model = model_for(300);
  ShapeCache::Entry& entry = entry_of(pod("q").milli(700));
  cache_.refresh(entry, model);
  const std::uint64_t before = ledger_.changes().count();
  while (ledger_.changes().since(before)) change();
  cache_.refresh(entry, model);
  expect_right(entry);
}

// In a large cluster the old ranking is used until its successor is complete.
TEST_F(ShapeCacheTest, ANewModelDoesNotBlockDecisionsInALargeCluster) {
  constexpr std::size_t kNodes = 4200;
  add_nodes(kNodes);
  for (int i = 0; i < 2000; ++i) change();
  const auto old_model = model_for(300);
  const auto new_model = model_for(470);
  ShapeCache::Entry& entry = entry_of(pod("q").milli(300));
  ShapeCache::Entry& other = entry_of(pod("q").gpus(2));  // every change of a node matters to it
  cache_.refresh(entry, old_model);
  cache_.refresh(other, old_model);
  std::uint64_t most = 0;
  int decisions = 0;
  while ((entry.model != new_model || other.model != new_model) && decisions < 400) {
    ++decisions;
    change();
    const std::uint64_t judged = cache_.judged();
    cache_.refresh(decisions % 2 == 0 ? entry : other, new_model);
    cache_.work(kSlice);
    most = std::max(most, cache_.judged() - judged);
    if (decisions % 20 == 0) {
      cache_.refresh(entry, new_model);
      ASSERT_NO_FATAL_FAILURE(expect_right(entry)) << "decision " << decisions;
    }
  }
  EXPECT_LT(decisions, 200) << "two rankings of 4200 nodes, 64 a decision";
  EXPECT_LT(most, 100U) << "no decision pays for more than its slice";
  for (ShapeCache::Entry* each : {&entry, &other}) {
    cache_.refresh(*each, new_model);
    EXPECT_EQ(each->model, new_model);
    expect_right(*each);
  }
}

TEST_F(ShapeCacheTest, ANodeThatComesWhileASuccessorIsMadeIsNotMissed) {
  add_nodes(4200);
  const auto new_model = model_for(470);
  ShapeCache::Entry& entry = entry_of(pod("q").milli(300));
  cache_.refresh(entry, model_for(300));
  cache_.refresh(entry, new_model);
  for (int i = 0; i < 10; ++i) cache_.work(kSlice);
  ledger_.upsert_node(node("late").cards(1));
  cache_.work(kSlice);
  cache_.refresh(entry, new_model);
  expect_right(entry);
  for (int i = 0; i < 100; ++i) cache_.work(kSlice);
  cache_.refresh(entry, new_model);
  EXPECT_EQ(entry.model, new_model);
  expect_right(entry);
}

TEST_F(ShapeCacheTest, TheShapeAskedForLongestAgoGivesWay) {
  add_nodes(2);
  const auto model = model_for(300);
  for (int i = 0; i < 3000; ++i) {
    cache_.refresh(entry_of(pod("q").cpu_milli(i)), model);
    ASSERT_LE(cache_.size(), 1024U);
    if (i % 100 == 0) cache_.refresh(entry_of(pod("often").gpus(1)), model);
  }
  const std::uint64_t judged = cache_.judged();
  cache_.refresh(entry_of(pod("often").gpus(1)), model);
  EXPECT_EQ(cache_.judged(), judged) << "still there";
  cache_.refresh(entry_of(pod("q").cpu_milli(0)), model);
  EXPECT_EQ(cache_.judged(), judged + 2) << "forgotten";
}

}  // namespace
}  // namespace stowage::core
