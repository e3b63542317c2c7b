#include "net/byte_stream.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::run_for;
using testing::run_until;

class ByteStreamTest : public ::testing::Test {
 protected:
  // A listener that keeps the streams it accepts, and records what they receive.
  [[nodiscard]] std::unique_ptr<UnixListener> listen() {
    auto made = UnixListener::listen(loop_, {.path = path_}, [this](auto stream) {
      accepted_.push_back(std::move(stream));
      accepted_.back()->start({.open = [this] { ++opened_; },
                               .bytes = [this](std::string_view bytes) { came_ += bytes; },
                               .drained = [this] { ++drained_; },
                               .end = [this](const std::string& why) { ended_.push_back(why); }});
    });
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("s.sock");
  EventLoop loop_;
  std::vector<std::unique_ptr<ByteStream>> accepted_;
  int opened_ = 0;
  std::string came_;
  int drained_ = 0;
  std::vector<std::string> ended_;
};

TEST_F(ByteStreamTest, BytesGoBothWaysAndAnEndIsTold) {
  const auto listener = listen();
  auto stream = ByteStream::connect(loop_, path_, {});
  std::string back;
  int drained = 0;
  stream->start(
      {.bytes = [&](std::string_view bytes) { back += bytes; }, .drained = [&] { ++drained; }});
  stream->write("written before it was open, ");
  stream->write("in two parts");
  EXPECT_TRUE(run_until(loop_, [&] { return came_.ends_with("parts") && drained > 0; }));
  EXPECT_EQ(came_, "written before it was open, in two parts");
  EXPECT_EQ(stream->backlog(), 0U);
  accepted_[0]->write("hello");
  EXPECT_TRUE(run_until(loop_, [&] { return back == "hello"; }));
  EXPECT_EQ(opened_, 1);
  stream.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return !ended_.empty(); }));
  EXPECT_EQ(ended_, std::vector<std::string>{"unix:" + path_ + " closed the connection"});
}

TEST_F(ByteStreamTest, WhatThePeerDoesNotTakeIsBacklog) {
  const auto listener = listen();
  auto stream = ByteStream::connect(loop_, path_, {});
  std::size_t came = 0;
  stream->start({.bytes = [&](std::string_view bytes) { came += bytes.size(); }});
  EXPECT_TRUE(run_until(loop_, [&] { return opened_ == 1; }));
  constexpr std::size_t kMuch = std::size_t{8} << 20U;
  accepted_[0]->write(std::string(kMuch, 'x'));
  EXPECT_EQ(accepted_[0]->backlog(), kMuch);
  EXPECT_TRUE(run_until(loop_, [&] { return came == kMuch && drained_ > 0; }));
  EXPECT_EQ(accepted_[0]->backlog(), 0U);
}

TEST_F(ByteStreamTest, AFinishedStreamStillSendsWhatWasWritten) {
  const auto listener = listen();
  auto stream = ByteStream::connect(loop_, path_, {});
  bool called = false;
  stream->start({.end = [&](const std::string&) { called = true; }});
  EXPECT_TRUE(run_until(loop_, [&] { return opened_ == 1; }));
  stream->write(std::string(1'000'000, 'x'));
  stream->finish(seconds{5});
  stream.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return !ended_.empty(); }));
  EXPECT_EQ(came_.size(), 1'000'000U);
  EXPECT_FALSE(called);
}

TEST_F(ByteStreamTest, AStreamMayBeDestroyedInEachOfItsCallbacks) {
  const auto listener = listen();
  for (const std::string when : {"open", "bytes", "drained", "end"}) {
    SCOPED_TRACE(when);
    const std::size_t before = accepted_.size();
    auto stream = ByteStream::connect(loop_, path_, {});
    int callbacks = 0;
    const auto destroy = [&](const std::string& now) {
      if (now != when) return;
      ++callbacks;
      stream.reset();
    };
    stream->start({.open = [&] { destroy("open"); },
                   .bytes = [&](std::string_view) { destroy("bytes"); },
                   .drained = [&] { destroy("drained"); },
                   .end = [&](const std::string&) { destroy("end"); }});
    stream->write("x");
    ASSERT_TRUE(run_until(loop_, [&] { return accepted_.size() > before; }));
    if (when == "bytes") accepted_.back()->write("y");
    if (when == "end") accepted_.back().reset();
    EXPECT_TRUE(run_until(loop_, [&] { return callbacks == 1; }));
    run_for(loop_, milliseconds{5});
    EXPECT_EQ(callbacks, 1);
  }
}

TEST_F(ByteStreamTest, ErrorsNameTheSocket) {
  const std::string long_path = "/" + std::string(200, 'x');
  const std::vector<std::pair<std::string, std::string>> rows = {
      {path_, "cannot connect to unix:" + path_ + ": no such file or directory"},
      {"relative.sock", "\"relative.sock\" is not the path of a Unix socket"},
      {long_path, "\"" + long_path + "\" is not the path of a Unix socket"},
  };
  for (const auto& [path, expected] : rows) {
    auto stream = ByteStream::connect(loop_, path, {});
    std::optional<std::string> why;
    stream->start({.end = [&](const std::string& text) { why = text; }});
    EXPECT_FALSE(why);  // not called synchronously
    EXPECT_TRUE(run_until(loop_, [&] { return why.has_value(); }));
    EXPECT_EQ(why, expected);
  }
}

TEST_F(ByteStreamTest, TheSocketIsForItsOwnerAloneAndGoesWithTheListener) {
  auto listener = listen();
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  listener.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ByteStreamTest, AnOldSocketIsReplacedAndTheNewOneLeftAlone) {
  auto old = listen();
  const auto fresh = listen();
  old.reset();  // must not remove the socket of another listener
  EXPECT_TRUE(std::filesystem::exists(path_));
  auto stream = ByteStream::connect(loop_, path_, {});
  stream->start({});
  EXPECT_TRUE(run_until(loop_, [&] { return opened_ == 1; }));
}

TEST_F(ByteStreamTest, AFileThatIsNoSocketIsNotReplaced) {
  std::ofstream(path_) << "precious";
  const auto refused = UnixListener::listen(loop_, {.path = path_}, [](auto) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot listen on unix:" + path_ + ": address already in use");
  EXPECT_TRUE(std::filesystem::exists(path_));
  const auto nowhere = UnixListener::listen(loop_, {.path = "x.sock"}, [](auto) {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message,
            "cannot listen on unix:x.sock: it is not the path of a Unix socket");
}

}  // namespace
}  // namespace stowage::net
