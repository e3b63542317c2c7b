#include "local/controllers/rollout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {
namespace {

RolloutSet set(std::int64_t wanted, std::int64_t available) {
  RolloutSet result;
  result.wanted = wanted;
  result.replicas = wanted;
  result.available = available;
  return result;
}

TEST(Rollout, StepsByTable) {
  struct Row {
    const char* name;
    RolloutWish wish;
    RolloutSet fresh;
    std::vector<RolloutSet> old;
    RolloutStep step;
  };
  const RolloutWish four{.replicas = 4, .max_surge = 1, .max_unavailable = 1};
  const Row rows[] = {
      {"the first one comes up whole", four, set(0, 0), {}, {4, {}}},
      {"a rollout begins with the surge", four, set(0, 0), {set(4, 4)}, {1, {4}}},
      {"then an old one may go", four, set(1, 0), {set(4, 4)}, {1, {3}}},
      {"what is not available goes first", four, set(1, 0), {set(2, 0), set(2, 2)}, {1, {1, 2}}},
      {"the last of the old go when the new are there", four, set(4, 4), {set(1, 1)}, {4, {0}}},
      {"too many new ones go", four, set(6, 6), {}, {4, {}}},
      {"a paused rollout stands",
       {.replicas = 4, .max_surge = 1, .paused = true},
       set(1, 1),
       {set(3, 3)},
       {1, {3}}},
      {"a paused one is scaled if it is alone",
       {.replicas = 6, .paused = true},
       set(0, 0),
       {set(4, 4)},
       {0, {6}}},
      {"recreate takes the old down first",
       {.replicas = 3, .max_unavailable = 3, .recreate = true},
       set(0, 0),
       {set(3, 3)},
       {0, {0}}},
      {"and then the new up",
       {.replicas = 3, .max_unavailable = 3, .recreate = true},
       set(0, 0),
       {set(0, 0)},
       {3, {0}}},
      {"no replicas at all",
       {.replicas = 0, .max_surge = 0, .max_unavailable = 0},
       set(2, 2),
       {set(1, 1)},
       {0, {1}}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(next_step(row.wish, row.fresh, row.old), row.step) << row.name;
}

// Pods start and stop as the sets want: the limits hold at every step, and the rollout ends.
RC_GTEST_PROP(Rollout, AlwaysEndsWithinItsLimits, ()) {
  RolloutWish wish;
  wish.replicas = *rc::gen::inRange(0, 12);
  wish.max_surge = *rc::gen::inRange(0, 4);
  wish.max_unavailable = *rc::gen::inRange(wish.max_surge == 0 ? 1 : 0, 4);
  RolloutSet fresh;
  std::vector<RolloutSet> old;
  const auto sets = *rc::gen::inRange(0, 3);
  for (int i = 0; i < sets; ++i) {
    const auto wanted = *rc::gen::inRange(0, 6);
    old.push_back(set(wanted, *rc::gen::inRange(0, wanted + 1)));
  }
  const auto available = [&] {
    std::int64_t sum = fresh.available;
    for (const RolloutSet& one : old) sum += one.available;
    return sum;
  };
  for (int step = 0; step < 200; ++step) {
    const std::int64_t before = available();
    const RolloutStep next = next_step(wish, fresh, old);
    std::int64_t total_before = fresh.wanted;
    for (const RolloutSet& one : old) total_before += one.wanted;
    std::int64_t total = next.fresh;
    for (const std::int64_t n : next.old) total += n;
    RC_ASSERT(total <= std::max(total_before, wish.replicas + wish.max_surge));
    RC_ASSERT(next.fresh <= wish.replicas);
    fresh.wanted = fresh.replicas = next.fresh;
    fresh.available = std::min(fresh.available, next.fresh);
    bool done = fresh.available == wish.replicas;
    for (std::size_t i = 0; i < old.size(); ++i) {
      RC_ASSERT(next.old[i] <= old[i].wanted);
      old[i].wanted = old[i].replicas = next.old[i];
      old[i].available = std::min(old[i].available, next.old[i]);
      done = done && next.old[i] == 0;
    }
    RC_ASSERT(available() >= std::min(before, wish.replicas - wish.max_unavailable));
    if (done) return;
    if (fresh.available < fresh.wanted) ++fresh.available;
  }
  RC_FAIL("it does not end");
}

TEST(PartOf, NumbersPercentagesAndNonsense) {
  struct Row {
    json::value amount;
    std::int64_t up;
    std::int64_t down;
  };
  for (const Row& row : {Row{3, 3, 3}, Row{"25%", 3, 2}, Row{"0%", 0, 0}, Row{"100%", 10, 10},
                         Row{"half", 0, 0}, Row{"5", 0, 0}, Row{nullptr, 0, 0}, Row{-1, 0, 0},
                         Row{"-5%", 0, 0}, Row{"99999999999999999999%", 0, 0}}) {
    EXPECT_EQ(part_of(&row.amount, 10, Round::up), row.up);
    EXPECT_EQ(part_of(&row.amount, 10, Round::down), row.down);
  }
  EXPECT_EQ(part_of(nullptr, 10, Round::up), 0);
}

TEST(WorkQueue, WorkIsDoneInTheOrderOfItsTimeAndNewWorkWaits) {
  WallTime now{};
  WorkQueue queue([&] { return now; });
  std::string order;
  int sooner = 0;
  queue.on_sooner([&] { ++sooner; });
  const auto at = [](int second) { return WallTime{std::chrono::seconds{second}}; };
  queue.at(at(2), [&] { order += 'b'; });
  queue.at(at(1), [&] {
    order += 'a';
    queue.at(at(1), [&] { order += 'n'; });
  });
  queue.at(at(2), [&] { order += 'c'; });
  queue.at(at(9), [&] { order += 'z'; });
  EXPECT_EQ(sooner, 2);
  EXPECT_EQ(queue.run(), 0U);
  now = at(3);
  EXPECT_EQ(queue.run(), 3U);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(queue.next(), at(1));
  EXPECT_EQ(queue.run(), 1U);
  EXPECT_EQ(order, "abcn");
  EXPECT_EQ(queue.next(), at(9));
}

}  // namespace
}  // namespace stowage::local
