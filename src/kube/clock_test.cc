#include "kube/clock.h"

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

TEST(Clock, ReadsTimesOfTheApi) {
  struct Row {
    const char* text;
    std::int64_t micros;
  };
  for (const Row& row : {
           Row{"1970-01-01T00:00:00Z", 0},
           Row{"2024-05-06T07:08:09Z", 1'714'979'289'000'000},
           Row{"2024-05-06T07:08:09.5Z", 1'714'979'289'500'000},
           Row{"2024-05-06T07:08:09.012345Z", 1'714'979'289'012'345},
           Row{"2024-05-06T07:08:09.0123456789Z", 1'714'979'289'012'345},
           Row{"2024-05-06T09:08:09+02:00", 1'714'979'289'000'000},
           Row{"2024-05-06T01:38:09-05:30", 1'714'979'289'000'000},
       }) {
    const auto time = parse_rfc3339(row.text);
    ASSERT_TRUE(time.has_value()) << row.text;
    EXPECT_EQ(unix_micros(*time), row.micros) << row.text;
  }
}

TEST(Clock, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2024", "2024-13-01T00:00:00Z", "2024-02-30T00:00:00Z", "2024-05-06T24:00:00Z",
        "2024-05-06T07:08:09", "2024-05-06T07:08:09.Z", "2024-05-06T07:08:09Zx",
        "2024-05-06T07:08:09+2:00", "9999-01-01T00:00:00Z", "-024-05-06T07:08:09Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace stowage::kube
