#include "agent/sampler.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "net/testing/loops.h"

namespace stowage::agent {
namespace {

using namespace std::chrono_literals;
using net::testing::run_for;
using net::testing::run_until;

// A driver that the test controls. Shared, because the sampler may leave its thread behind.
struct Driver {
  std::mutex mutex;
  std::condition_variable go_on;
  int cards = 2;
  std::string broken;  // why nothing can be read; empty: readable
  bool hangs = false;
  bool stale = false;
  std::vector<gpu::Fault> faults;
  int inventories = 0;
};

class ScriptedSource final : public gpu::Source {
 public:
  explicit ScriptedSource(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}

  Result<gpu::Inventory> inventory() override {
    const std::scoped_lock lock(driver_->mutex);
    ++driver_->inventories;
    driver_->stale = false;
    if (!driver_->broken.empty()) return fail(driver_->broken);
    gpu::Inventory inventory;
    for (int i = 0; i < driver_->cards; ++i) {
      inventory.cards.push_back({.id = "GPU-" + std::to_string(i), .index = i, .model = "H200"});
    }
    return inventory;
  }
  Result<std::vector<gpu::CardSample>> sample() override {
    std::unique_lock lock(driver_->mutex);
    driver_->go_on.wait(lock, [this] { return !driver_->hangs; });
    if (!driver_->broken.empty()) return fail(driver_->broken);
    std::vector<gpu::CardSample> samples;
    for (int i = 0; i < driver_->cards; ++i) {
      samples.push_back({.id = "GPU-" + std::to_string(i), .utilisation_permille = 10 * i});
    }
    return samples;
  }
  std::vector<gpu::Fault> faults() override {
    const std::scoped_lock lock(driver_->mutex);
    return std::exchange(driver_->faults, {});
  }
  bool stale() const override {
    const std::scoped_lock lock(driver_->mutex);
    return driver_->stale;
  }
  std::string trouble() const override { return {}; }

 private:
  std::shared_ptr<Driver> driver_;
};

struct SamplerTest : ::testing::Test {
  void make(SamplerOptions options = {}) {
    options.every = 2ms;
    sampler = std::make_unique<Sampler>(loop, std::make_unique<ScriptedSource>(driver), options,
                                        [this](std::shared_ptr<const CardsSnapshot> seen) {
                                          ++snapshots;
                                          for (const auto& words : seen->news) news += words + ";";
                                          snapshot = std::move(seen);
                                        });
    sampler->start();
  }
  template <typename Change>
  void change(Change how) {
    const std::scoped_lock lock(driver->mutex);
    how(*driver);
    driver->go_on.notify_all();
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }

  net::EventLoop loop;
  std::shared_ptr<Driver> driver = std::make_shared<Driver>();
  std::unique_ptr<Sampler> sampler;
  std::shared_ptr<const CardsSnapshot> snapshot;
  std::string news;
  int snapshots = 0;
};

TEST_F(SamplerTest, SnapshotsComeWithCardsAndTheirLoad) {
  make();
  ASSERT_TRUE(soon([&] { return snapshots >= 3; }));
  EXPECT_TRUE(snapshot->known);
  EXPECT_EQ(snapshot->list.cards.size(), 2U);
  EXPECT_EQ(snapshot->samples.at(1).utilisation_permille, 10);
  EXPECT_TRUE(snapshot->health.at("GPU-1").healthy);
  EXPECT_GT(sampler->last(), net::Moment{});
  EXPECT_EQ(driver->inventories, 1) << "read again only when it is out of date";
  change([](Driver& d) {
    d.cards = 3;
    d.stale = true;
  });
  ASSERT_TRUE(soon([&] { return snapshot->list.cards.size() == 3; }));
}

TEST_F(SamplerTest, ACardBecomesUnhealthyAndHealthyAgain) {
  make({.health = {.quiet = 1s}});
  ASSERT_TRUE(soon([&] { return snapshots > 0; }));
  change([](Driver& d) { d.faults = {{.kind = gpu::FaultKind::xid, .card = "GPU-1", .xid = 74}}; });
  ASSERT_TRUE(soon([&] { return !snapshot->list.cards.at(1).healthy; }));
  EXPECT_NE(news.find("card GPU-1 is unhealthy"), std::string::npos) << news;
  EXPECT_TRUE(snapshot->list.cards.at(0).healthy);
  ASSERT_TRUE(soon([&] { return snapshot->list.cards.at(1).healthy; }));
  EXPECT_NE(news.find("card GPU-1 is healthy again"), std::string::npos) << news;
}

TEST_F(SamplerTest, ADriverThatIsAwayIsTold) {
  change([](Driver& d) { d.broken = "no driver"; });
  make();
  ASSERT_TRUE(soon([&] { return snapshots > 0; }));
  EXPECT_FALSE(snapshot->known);
  EXPECT_EQ(snapshot->trouble, "no driver");
  change([](Driver& d) { d.broken.clear(); });
  ASSERT_TRUE(soon([&] { return snapshot->known; }));
  EXPECT_TRUE(snapshot->trouble.empty());
}

TEST_F(SamplerTest, ADriverThatHangsIsNoticedAndLeftBehind) {
  make();
  ASSERT_TRUE(soon([&] { return snapshots > 0; }));
  change([](Driver& d) { d.hangs = true; });
  run_for(loop, 20ms);
  const net::Moment last = sampler->last();
  run_for(loop, 50ms);
  EXPECT_EQ(sampler->last(), last);
  sampler.reset();  // must not wait for ever
  change([](Driver& d) { d.hangs = false; });
  const int before = snapshots;
  run_for(loop, 20ms);
  EXPECT_EQ(snapshots, before);
}

}  // namespace
}  // namespace stowage::agent
