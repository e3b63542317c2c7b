#include "controller/profiler.h"

#include <gtest/gtest.h>

namespace stowage::controller {
namespace {

using namespace std::chrono_literals;

TEST(Profiler, RecordsForTheTimeThatWasAskedFor) {
  net::EventLoop loop;
  Profiler profiler(loop);
  std::string said;
  const auto note = [&](const Result<std::string>& profile) {
    said += profile ? "profile " : profile.error().message + " ";
    loop.stop();
  };
  profiler.record_cpu(0s, note);
  profiler.record_cpu(61s, note);
#if defined(STOWAGE_PROFILER)
  EXPECT_EQ(said, "seconds must be 1 to 60 seconds must be 1 to 60 ");
  said.clear();
  profiler.record_cpu(1s, note);
  profiler.record_cpu(1s, note);
  EXPECT_EQ(said, "a profile is being recorded already ");
  loop.run();  // returns at once: it was stopped before
  loop.run();
  EXPECT_EQ(said, "a profile is being recorded already profile ");
#else
  EXPECT_EQ(said, "this build has no profiler this build has no profiler ");
#endif
}

TEST(Profiler, SaysHowToSampleTheHeap) {
  const auto heap = Profiler::heap();
  if (heap) GTEST_SKIP() << "the heap is sampled";
  EXPECT_FALSE(heap.error().message.empty());
}

}  // namespace
}  // namespace stowage::controller
