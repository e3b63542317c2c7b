#include "net/folder_watch.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"

namespace stowage::net {
namespace {

using Kind = FolderChange::Kind;
using testing::run_for;
using testing::run_until;

class FolderWatchTest : public ::testing::Test {
 protected:
  void watch(const std::string& path) {
    auto made = FolderWatch::watch(loop_, path, [this](const FolderChange& change) {
      seen_.emplace_back(change.kind, change.name);
      if (change.name == stop_at_) watch_.reset();
    });
    ASSERT_TRUE(made) << made.error().message;
    watch_ = *std::move(made);
  }
  void write(const std::string& name) const { std::ofstream(folder_.path(name)) << "x"; }

  testing::TemporaryFolder folder_;
  EventLoop loop_;
  std::unique_ptr<FolderWatch> watch_;
  std::vector<std::pair<Kind, std::string>> seen_;
  std::string stop_at_ = "none";
};

TEST_F(FolderWatchTest, FilesThatAppearAndLeaveAreReportedInOrder) {
  watch(folder_.path("."));
  write("a");
  write("a");  // a write is no change of the folder
  std::filesystem::rename(folder_.path("a"), folder_.path("b"));
  std::filesystem::remove(folder_.path("b"));
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.size() >= 4; }));
  EXPECT_EQ(
      seen_,
      (std::vector<std::pair<Kind, std::string>>{
          {Kind::appeared, "a"}, {Kind::left, "a"}, {Kind::appeared, "b"}, {Kind::left, "b"}}));
}

TEST_F(FolderWatchTest, TheEndOfTheFolderIsReportedOnce) {
  std::filesystem::create_directory(folder_.path("f"));
  watch(folder_.path("f"));
  std::filesystem::remove(folder_.path("f"));
  std::filesystem::create_directory(folder_.path("f"));
  write("f/a");
  run_for(loop_, std::chrono::milliseconds{50});
  EXPECT_EQ(seen_, (std::vector<std::pair<Kind, std::string>>{{Kind::ended, ""}}));
}

TEST_F(FolderWatchTest, TheHandlerMayDestroyTheWatch) {
  stop_at_ = "a";
  watch(folder_.path("."));
  write("a");
  write("b");
  run_for(loop_, std::chrono::milliseconds{50});
  EXPECT_EQ(seen_.size(), 1U);
}

TEST_F(FolderWatchTest, LostChangesAreReported) {
  watch(folder_.path("."));
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  std::size_t most = 0;
  limit >> most;
  if (most == 0 || most > 100'000) GTEST_SKIP() << "the queue of the system is too long";
  for (std::size_t i = 0; i <= most / 2; ++i) {
    write("a");
    std::filesystem::remove(folder_.path("a"));
  }
  write("last");
  ASSERT_TRUE(run_until(loop_, [&] {
    return std::any_of(seen_.begin(), seen_.end(),
                       [](const auto& each) { return each.first == Kind::missed; });
  }));
}

TEST_F(FolderWatchTest, WhatCannotBeWatchedIsAnError) {
  write("file");
  for (const char* name : {"none", "file"}) {
    const auto made = FolderWatch::watch(loop_, folder_.path(name), [](const FolderChange&) {});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find(folder_.path(name)), std::string::npos);
  }
}

}  // namespace
}  // namespace stowage::net
