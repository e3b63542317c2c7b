#include "controller/progress_log.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace stowage::controller {
namespace {

TEST(ProgressLog, LogsWhatChangedSinceTheLastLook) {
  net::EventLoop loop;
  std::string lines;
  base::Log log({.write = [&](std::string_view line) { lines += line; }});
  scheduler::Scheduler::Snapshot now;
  ProgressLog progress(loop, log, [&] { return now; });
  progress.start();
  EXPECT_EQ(lines, "") << "nothing has happened";
  now.binder.bound = 5;
  progress.start();
  EXPECT_NE(lines.find("bound=5"), std::string::npos) << lines;
  lines.clear();
  now.binder.bound = 7;
  now.command_executor.refused = 1;
  progress.start();
  EXPECT_NE(lines.find("bound=2"), std::string::npos) << lines;
  EXPECT_NE(lines.find("refused=1"), std::string::npos) << lines;
  lines.clear();
  progress.start();
  EXPECT_EQ(lines, "");
  progress.reset();
  progress.start();
  EXPECT_NE(lines.find("bound=7"), std::string::npos) << lines;
}

}  // namespace
}  // namespace stowage::controller
