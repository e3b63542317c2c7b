#include "kube/child_process.h"

#include <thread>

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

ChildRequest shell(const std::string& script) {
  return {.command = "sh",
          .args = {"-c", script},
          .env = child_environment({{"STOWAGE_TEST", "a b"}}),
          .time_limit = std::chrono::seconds{30}};
}

TEST(ChildProcess, CollectsOutputAndExitCode) {
  const std::atomic<bool> cancelled{false};
  const auto end =
      run_child(shell("echo out; echo err >&2; echo $STOWAGE_TEST; exit 3"), cancelled);
  ASSERT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(end->out, "out\na b\n");
  EXPECT_EQ(end->err_tail, "err\n");
  EXPECT_EQ(end->exit_code, 3);
}

TEST(ChildProcess, HasNoInput) {
  const std::atomic<bool> cancelled{false};
  const auto end = run_child(shell("cat; echo done"), cancelled);
  ASSERT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(end->out, "done\n");
}

TEST(ChildProcess, KeepsOnlyTheEndOfTheErrors) {
  const std::atomic<bool> cancelled{false};
  ChildRequest ask = shell("i=0; while [ $i -lt 200 ]; do echo line$i >&2; i=$((i+1)); done");
  ask.err_bytes_kept = 16;
  const auto end = run_child(ask, cancelled);
  ASSERT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(end->err_tail, "line198\nline199\n");
}

TEST(ChildProcess, IsKilledAtItsTimeLimitWithAllItStarted) {
  const std::atomic<bool> cancelled{false};
  ChildRequest ask = shell("echo waiting >&2; sleep 100 & sleep 100");
  ask.time_limit = std::chrono::seconds{1};
  const auto end = run_child(ask, cancelled);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().message, "sh did not end within 1 s: waiting\n");
}

TEST(ChildProcess, IsNotWaitedForThroughWhatItLeftBehind) {
  const std::atomic<bool> cancelled{false};
  const auto end = run_child(shell("echo token; sleep 100 &"), cancelled);
  ASSERT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(end->out, "token\n");
}

TEST(ChildProcess, IsKilledWhenItPrintsTooMuch) {
  const std::atomic<bool> cancelled{false};
  const auto end = run_child(shell("yes"), cancelled);
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find("printed more than"), std::string::npos);
}

TEST(ChildProcess, IsKilledWhenCancelled) {
  std::atomic<bool> cancelled{false};
  std::thread canceller([&] { cancelled = true; });
  const auto end = run_child(shell("sleep 100"), cancelled);
  canceller.join();
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find("was cancelled"), std::string::npos);
}

TEST(ChildProcess, SaysThatThereIsNoSuchProgram) {
  const std::atomic<bool> cancelled{false};
  const auto end = run_child({.command = "/no/such/program"}, cancelled);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().message, "cannot start /no/such/program: No such file or directory");
}

}  // namespace
}  // namespace stowage::kube
