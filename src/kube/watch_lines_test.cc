#include "kube/watch_lines.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/testing/cut.h"

namespace stowage::kube {
namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& pieces, std::size_t bytes_max) {
  return testing::parts_of(WatchLines(bytes_max), pieces, WatchLines::Next::line);
}

TEST(WatchLines, CutsAtLineBreaksWhereverTheBytesAreCut) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of({"ab\ncd\n"}, 10), (Lines{"ab", "cd"}));
  EXPECT_EQ(lines_of({"a", "b\nc", "d", "\n"}, 10), (Lines{"ab", "cd"}));
  EXPECT_EQ(lines_of({"ab\r\n\n\ncd\n"}, 10), (Lines{"ab", "cd"}));
  EXPECT_EQ(lines_of({"ab\nunfinished"}, 20), (Lines{"ab"}));
}

TEST(WatchLines, SkipsLinesThatAreTooLong) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of({"abcdef\nok\n"}, 4), (Lines{"<too long>", "ok"}));
  EXPECT_EQ(lines_of({"abc", "def", "ghi\no", "k\n"}, 4), (Lines{"<too long>", "ok"}));
  EXPECT_EQ(lines_of({"abcd\n"}, 4), (Lines{"abcd"}));
}

TEST(WatchLines, SaysWhatAnUnfinishedLineTakes) {
  WatchLines lines(100'000);
  std::string_view line;
  const auto feed = [&](const std::string& text) {
    lines.feed(text);
    while (lines.next(line) != WatchLines::Next::need_more) {
    }
    return lines.held();
  };
  EXPECT_EQ(feed("ab\n"), 0U);
  EXPECT_GE(feed(std::string(50'000, 'x')), 50'000U);
  EXPECT_GE(feed("y"), 50'001U);
  EXPECT_EQ(feed("\n"), 0U);
  EXPECT_GE(feed(std::string(50'000, 'x')), 50'000U);
  EXPECT_EQ(feed(std::string(60'000, 'x')), 0U) << "too long: dropped";
}

RC_GTEST_PROP(WatchLines, TheCutDoesNotMatter, (const std::vector<std::uint8_t>& cuts)) {
  const std::string text = "{\"a\":1}\n{\"bb\":22}\n\n{\"ccc\":333}\n";
  std::vector<std::string> pieces;
  std::size_t at = 0;
  for (const std::uint8_t cut : cuts) {
    const std::size_t length = std::min<std::size_t>(cut % 8, text.size() - at);
    pieces.push_back(text.substr(at, length));
    at += length;
  }
  pieces.push_back(text.substr(at));
  RC_ASSERT(lines_of(pieces, 100) == lines_of({text}, 100));
}

}  // namespace
}  // namespace stowage::kube
