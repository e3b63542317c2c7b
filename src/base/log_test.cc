#include "base/log.h"

#include <vector>

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

struct Lines {
  std::vector<std::string> lines;
  Log::Options options(LogFormat format) {
    return {.level = LogLevel::info,
            .format = format,
            .write = [this](std::string_view line) { lines.emplace_back(line); },
            .unix_micros = [] { return std::int64_t{1'763'193'803'000'123}; }};
  }
};

TEST(Log, TextHasTimeLevelMessageAndFields) {
  Lines out;
  Log log(out.options(LogFormat::text));
  log.warn("pod refused", {{"pod", "ns/a"}, {"why", "no room"}, {"empty", ""}});
  EXPECT_EQ(out.lines.at(0),
            "2025-11-15T08:03:23.000123Z warn  pod refused pod=ns/a why=\"no room\" empty=\"\"\n");
}

TEST(Log, JsonIsOneObjectPerLine) {
  Lines out;
  Log log(out.options(LogFormat::json));
  log.error("bad \"thing\"\n", {{"pod", "ns/a"}});
  EXPECT_EQ(out.lines.at(0),
            "{\"time\":\"2025-11-15T08:03:23.000123Z\",\"level\":\"error\","
            "\"message\":\"bad \\\"thing\\\"\\n\",\"pod\":\"ns/a\"}\n");
}

TEST(Log, NoValueForgesALine) {
  Lines out;
  Log log(out.options(LogFormat::text));
  log.info("x\ny", {{"a", "1\n2026 error forged"}, {"b", "k=v"}, {"c", "\x01"}});
  EXPECT_EQ(out.lines.at(0),
            "2025-11-15T08:03:23.000123Z info  x y a=\"1\\n2026 error forged\" b=\"k=v\" "
            "c=\"\\x01\"\n");
}

TEST(Log, TheLevelDecidesAndCanChange) {
  Lines out;
  Log log(out.options(LogFormat::text));
  log.debug("no");
  EXPECT_TRUE(out.lines.empty());
  log.set_level(LogLevel::debug);
  log.debug("yes");
  log.set_level(LogLevel::error);
  log.warn("no");
  EXPECT_EQ(out.lines.size(), 1U);
}

TEST(Log, NamesOfLevelsAndFormats) {
  for (const auto level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    EXPECT_EQ(parse_log_level(to_string(level)).value(), level);
  }
  EXPECT_FALSE(parse_log_level("loud"));
  EXPECT_EQ(parse_log_format("json").value(), LogFormat::json);
  EXPECT_EQ(parse_log_format("xml").error().message,
            "unknown log format \"xml\": write text or json");
}

}  // namespace
}  // namespace stowage::base
