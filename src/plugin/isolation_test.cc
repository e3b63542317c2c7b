#include "plugin/isolation.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "mps/card_state.h"

namespace stowage::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'790'000'000;

class IsolationTest : public ::testing::Test {
 protected:
  IsolationTest() {
    std::string name = fs::temp_directory_path() / "stowage-isolation-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~IsolationTest() override { fs::remove_all(root_); }

  void daemon(const std::string& card, const mps::CardState& state) {
    fs::create_directories(root_ + "/" + card);
    ASSERT_TRUE(base::write_file(root_ + "/" + card + "/state", mps::to_json(state)));
  }
  [[nodiscard]] Result<IsolationPlan> plan(const std::vector<CardShare>& cards) const {
    return plan_isolation(cards, {.mps_root = root_, .unix_now = kNow});
  }
  [[nodiscard]] std::string why_not(const std::vector<CardShare>& cards) const {
    const auto made = plan(cards);
    return made ? "it can" : made.error().message;
  }

  std::string root_;
};

const CardShare kShare{.id = "GPU-a", .milli = 250, .memory_mib = 3072};

TEST_F(IsolationTest, WholeCardsAndInstancesNeedNoDaemon) {
  EXPECT_EQ(plan({{.id = "GPU-a", .milli = 1000}})->level, Isolation::whole);
  EXPECT_EQ(plan({{.id = "GPU-a", .milli = 1000}, {.id = "GPU-b", .milli = 1000}})->level,
            Isolation::whole);
  EXPECT_EQ(plan({{.id = "MIG-a", .milli = 1000}})->level, Isolation::mig);
  EXPECT_EQ(
      plan({{.id = "GPU-a", .milli = 1000, .memory_mib = 81920, .card_memory_mib = 81920}})->level,
      Isolation::whole);
  EXPECT_EQ(plan({{.id = "GPU-a", .milli = 1000}})->edits, CdiEdits());
}

TEST_F(IsolationTest, AShareIsLimitedByTheDaemonOfItsCard) {
  daemon("GPU-a", {.running = true, .written_unix = kNow - 3});
  const auto made = plan({kShare});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->level, Isolation::mps_open);
  EXPECT_EQ(made->edits.env,
            (std::vector<std::string>{"CUDA_MPS_PIPE_DIRECTORY=/run/stowage/mps",
                                      "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25",
                                      "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=3072M"}));
  ASSERT_EQ(made->edits.mounts.size(), 1U);
  EXPECT_EQ(made->edits.mounts[0].host_path, root_ + "/GPU-a/pipe");
  EXPECT_EQ(made->edits.mounts[0].container_path, "/run/stowage/mps");
  daemon("GPU-a", {.running = true, .exclusive = true, .written_unix = kNow});
  EXPECT_EQ(plan({kShare})->level, Isolation::mps);
}

TEST_F(IsolationTest, AllOfTheComputeAndAPartOfTheMemoryIsAShare) {
  daemon("GPU-a", {.running = true, .written_unix = kNow});
  for (const std::int32_t card : {0, 81920}) {
    const auto made =
        plan({{.id = "GPU-a", .milli = 1000, .memory_mib = 8192, .card_memory_mib = card}});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->level, Isolation::mps_open);
    EXPECT_EQ(made->edits.env.back(), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M");
  }
}

TEST_F(IsolationTest, AShareWithoutADaemonIsRefusedWithTheReason) {
  EXPECT_NE(why_not({kShare}).find("is the DaemonSet of deploy/mps.yaml running"),
            std::string::npos);
  daemon("GPU-a", {.error = "the MPS daemon ended: signal 9", .written_unix = kNow});
  EXPECT_EQ(why_not({kShare}), "card GPU-a takes no shares now: the MPS daemon ended: signal 9");
  daemon("GPU-a", {.running = true, .written_unix = kNow - 60});
  EXPECT_EQ(why_not({kShare}), "the MPS daemon of card GPU-a has not been seen for 60 s");
  ASSERT_TRUE(base::write_file(root_ + "/GPU-a/state", "{\"running\":1}"));
  EXPECT_NE(why_not({kShare}).find("cannot be read"), std::string::npos);
  EXPECT_NE(why_not({{.id = "../GPU-a", .milli = 1}}).find("has no MPS daemon"), std::string::npos);
}

TEST_F(IsolationTest, SharesOfSeveralCardsAreNotLimited) {
  daemon("GPU-a", {.running = true, .written_unix = kNow});
  EXPECT_EQ(*plan({kShare, {.id = "GPU-b", .milli = 500}}), IsolationPlan());
  EXPECT_EQ(*plan({{.id = "GPU-b", .milli = 1000}, kShare}), IsolationPlan());
}

TEST_F(IsolationTest, WithoutAFolderSharesAreNotLimited) {
  EXPECT_EQ(*plan_isolation({kShare}, {}), IsolationPlan());
}

}  // namespace
}  // namespace stowage::plugin
