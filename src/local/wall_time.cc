#include "local/wall_time.h"

#include <cstdint>

#include <fmt/core.h>

namespace stowage::local {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string date_and_time(WallTime time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{floor<seconds>(time - day)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// Reads fixed places of a text; any deviation makes it bad.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') {
        good_ = false;
        return 0;
      }
      value = value * 10 + (text_[at_++] - '0');
    }
    return value;
  }
  void expect(char c) {
    if (!take(c)) good_ = false;
  }
  bool take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  // The digits behind a point, as microseconds; more than six are cut.
  microseconds fraction() {
    std::int64_t value = 0;
    int digits = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (digits < 6) value = value * 10 + (text_[at_] - '0');
      ++digits;
      ++at_;
    }
    if (digits == 0) good_ = false;
    for (; digits < 6; ++digits) value *= 10;
    return microseconds{value};
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool done() const { return good_ && at_ == text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::string time_text(WallTime time) { return date_and_time(time) + "Z"; }

std::string micro_time_text(WallTime time) {
  const auto fraction = time - floor<seconds>(time);
  return fmt::format("{}.{:06}Z", date_and_time(time), fraction.count());
}

std::optional<WallTime> parse_time(std::string_view text) {
  Reader in(text);
  const int year = in.number(4);
  in.expect('-');
  const int month = in.number(2);
  in.expect('-');
  const int day = in.number(2);
  if (!in.take('t')) in.expect('T');
  const int hour = in.number(2);
  in.expect(':');
  const int minute = in.number(2);
  in.expect(':');
  const int second = in.number(2);
  microseconds fraction{0};
  if (in.take('.')) fraction = in.fraction();
  minutes offset{0};
  if (!in.take('Z') && !in.take('z')) {
    const bool behind = in.take('-');
    if (!behind) in.expect('+');
    offset = hours{in.number(2)};
    in.expect(':');
    offset += minutes{in.number(2)};
    if (behind) offset = -offset;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!in.done() || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} +
         fraction - offset;
}

std::string age_text(microseconds age) {
  const std::int64_t s = floor<seconds>(age).count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  const std::int64_t m = s / 60;
  const std::int64_t h = m / 60;
  const std::int64_t d = h / 24;
  const auto with = [](std::int64_t big, char unit, std::int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, unit)
                      : fmt::format("{}{}{}{}", big, unit, small, small_unit);
  };
  if (s < 120) return fmt::format("{}s", s);
  if (m < 10) return with(m, 'm', s % 60, 's');
  if (m < 180) return fmt::format("{}m", m);
  if (h < 8) return with(h, 'h', m % 60, 'm');
  if (h < 48) return fmt::format("{}h", h);
  if (d < 8) return with(d, 'd', h % 24, 'h');
  if (d < 730) return fmt::format("{}d", d);
  if (d < 2920) return with(d / 365, 'y', d % 365, 'd');
  return fmt::format("{}y", d / 365);
}

}  // namespace stowage::local
