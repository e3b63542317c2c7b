#include "kube/clock.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace stowage::kube {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::seconds;

// Reads a fixed number of digits from the front of a text.
class Digits {
 public:
  explicit Digits(std::string_view text) : rest_(text) {}

  // -1 if there are not that many digits.
  int take(std::size_t count) {
    if (rest_.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return -1;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  bool skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Decimals after the point as nanoseconds; -1 if there are none. Beyond nine they are cut off.
std::int64_t take_decimals(Digits& digits) {
  std::int64_t value = 0;
  int count = 0;
  for (int next = digits.take(1); next >= 0; next = digits.take(1)) {
    if (count < 9) value = value * 10 + next;
    ++count;
  }
  if (count == 0) return -1;
  for (; count < 9; ++count) value *= 10;
  return value;
}

// The offset at the end: Z, +hh:mm or -hh:mm.
bool take_offset(Digits& digits, seconds& offset) {
  if (digits.skip('Z') || digits.skip('z')) return true;
  const bool minus = digits.skip('-');
  if (!minus && !digits.skip('+')) return false;
  const int hours = digits.take(2);
  if (!digits.skip(':')) return false;
  const int minutes = digits.take(2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
  offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  if (minus) offset = -offset;
  return true;
}

}  // namespace

WallClock system_wall_clock() {
  return [] {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  };
}

std::int64_t unix_nanos(WallTime time) { return time.time_since_epoch().count(); }

std::int64_t unix_micros(WallTime time) {
  return floor<microseconds>(time.time_since_epoch()).count();
}

std::int64_t unix_seconds(WallTime time) { return floor<seconds>(time.time_since_epoch()).count(); }

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(fmt::format("\"{}\" is no time such as 2024-05-06T07:08:09Z", text.substr(0, 64)));
  };
  Digits digits(text);
  const int year = digits.take(4);
  const bool first = digits.skip('-');
  const int month = digits.take(2);
  const bool second = digits.skip('-');
  const int day = digits.take(2);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  // The years that 64 bits of nanoseconds hold.
  if (year < 1970 || year > 2200 || !first || !second || !date.ok()) return bad();
  if (!digits.skip('T') && !digits.skip('t') && !digits.skip(' ')) return bad();

  const int hour = digits.take(2);
  const bool third = digits.skip(':');
  const int minute = digits.take(2);
  const bool fourth = digits.skip(':');
  const int second_of_minute = digits.take(2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second_of_minute < 0 ||
      second_of_minute > 60 || !third || !fourth) {
    return bad();
  }
  std::int64_t nanos = 0;
  if (digits.skip('.')) nanos = take_decimals(digits);
  seconds offset{0};
  if (nanos < 0 || !take_offset(digits, offset) || !digits.rest().empty()) return bad();
  return WallTime{std::chrono::sys_days{date}} + std::chrono::hours{hour} +
         std::chrono::minutes{minute} + seconds{second_of_minute} - offset +
         std::chrono::nanoseconds{nanos};
}

}  // namespace stowage::kube
