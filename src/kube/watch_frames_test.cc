#include "kube/watch_frames.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/testing/protobuf_out.h"
#include "kube/testing/cut.h"

namespace stowage::kube {
namespace {

using codec::testing::frame;
using Frames = std::vector<std::string>;

Frames frames_of(const std::vector<std::string>& pieces, std::size_t bytes_max) {
  return testing::parts_of(WatchFrames(bytes_max), pieces, WatchFrames::Next::frame);
}

TEST(WatchFrames, CutsByLengthWhereverTheBytesAreCut) {
  EXPECT_EQ(frames_of({frame("ab") + frame("cde")}, 10), (Frames{"ab", "cde"}));
  EXPECT_EQ(frames_of({frame("ab") + frame("") + frame("c")}, 10), (Frames{"ab", "", "c"}));
  EXPECT_EQ(frames_of({frame("ab").substr(0, 3), frame("ab").substr(3)}, 10), (Frames{"ab"}));
  EXPECT_EQ(frames_of({frame("ab"), frame("unfinished").substr(0, 8)}, 20), (Frames{"ab"}));
  const std::string large(70'000, 'x');
  EXPECT_EQ(frames_of({frame(large)}, 100'000), (Frames{large}));
}

TEST(WatchFrames, SkipsFramesThatAreTooLong) {
  EXPECT_EQ(frames_of({frame("abcde") + frame("ok")}, 4), (Frames{"<too long>", "ok"}));
  const std::string text = frame("abcdefgh") + frame("ok");
  EXPECT_EQ(
      frames_of({text.substr(0, 2), text.substr(2, 4), text.substr(6, 7), text.substr(13)}, 4),
      (Frames{"<too long>", "ok"}));
  EXPECT_EQ(frames_of({frame("abcd")}, 4), (Frames{"abcd"}));
  EXPECT_EQ(frames_of({std::string("\xff\xff\xff\xff", 4) + "abc"}, 4), (Frames{"<too long>"}));
}

TEST(WatchFrames, ClearForgetsWhatWasBegun) {
  for (const std::string& begun : {frame("abc").substr(0, 3), frame("abc").substr(0, 5),
                                   frame("too long for it").substr(0, 9)}) {
    WatchFrames frames(4);
    std::string_view content;
    frames.feed(begun);
    while (frames.next(content) != WatchFrames::Next::need_more) {
    }
    frames.clear();
    const std::string fresh = frame("ok");
    frames.feed(fresh);
    ASSERT_EQ(frames.next(content), WatchFrames::Next::frame);
    EXPECT_EQ(content, "ok");
  }
}

RC_GTEST_PROP(WatchFrames, TheCutDoesNotMatter, (const std::vector<std::uint8_t>& cuts)) {
  const std::string text = frame("a") + frame("bb too long") + frame("") + frame("cccccc");
  std::vector<std::string> pieces;
  std::size_t at = 0;
  for (const std::uint8_t cut : cuts) {
    const std::size_t length = std::min<std::size_t>(cut % 8, text.size() - at);
    pieces.push_back(text.substr(at, length));
    at += length;
  }
  pieces.push_back(text.substr(at));
  RC_ASSERT(frames_of(pieces, 8) == (Frames{"a", "<too long>", "", "cccccc"}));
}

}  // namespace
}  // namespace stowage::kube
