#include "base/rfc3339.h"

#include <chrono>
#include <cstddef>

#include <fmt/format.h>

namespace stowage::base {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;

struct Civil {
  explicit Civil(std::int64_t unix_seconds) {
    const std::chrono::sys_seconds at{std::chrono::seconds{unix_seconds}};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    date = std::chrono::year_month_day{day};
    second_of_day = static_cast<unsigned>((at - day).count());
  }
  [[nodiscard]] int year() const { return static_cast<int>(date.year()); }
  [[nodiscard]] unsigned month() const { return static_cast<unsigned>(date.month()); }
  [[nodiscard]] unsigned day() const { return static_cast<unsigned>(date.day()); }
  [[nodiscard]] unsigned hour() const { return second_of_day / 3600; }
  [[nodiscard]] unsigned minute() const { return second_of_day / 60 % 60; }
  [[nodiscard]] unsigned second() const { return second_of_day % 60; }

  std::chrono::year_month_day date;
  unsigned second_of_day = 0;
};

std::array<char, 20> chars_of(const Civil& time) {
  std::array<char, 20> text{};
  const auto digits = [&](std::size_t place, std::size_t count, unsigned value) {
    for (std::size_t i = count; i-- > 0; value /= 10) {
      text[place + i] = static_cast<char>('0' + value % 10);
    }
  };
  digits(0, 4, static_cast<unsigned>(time.year()));
  digits(5, 2, time.month());
  digits(8, 2, time.day());
  digits(11, 2, time.hour());
  digits(14, 2, time.minute());
  digits(17, 2, time.second());
  text[4] = text[7] = '-';
  text[10] = 'T';
  text[13] = text[16] = ':';
  text[19] = 'Z';
  return text;
}

// Takes parts off the front of a text. A missing part sets an error, and all later parts are 0.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }
  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(bool there) { good_ = good_ && there; }
  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int next = digit();
      expect(next >= 0);
      if (!good_) return 0;
      value = value * 10 + next;
    }
    return value;
  }
  // The decimals after the point, at least one; those beyond the ninth are dropped.
  std::int32_t nanos() {
    std::int32_t value = 0;
    int count = 0;
    for (int next = digit(); next >= 0; next = digit(), ++count) {
      if (count < 9) value = value * 10 + next;
    }
    expect(count > 0);
    for (; count < 9; ++count) value *= 10;
    return value;
  }

 private:
  // -1 if none exists.
  int digit() {
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return -1;
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }

  std::string_view rest_;
  bool good_ = true;
};

// "Z", "+02:00" or "-07:30": seconds east of UTC.
int take_offset(Reader& in, const Rfc3339Rules& rules) {
  if (in.take('Z') || in.take('z')) return 0;
  const bool west = in.take('-');
  in.expect(west || in.take('+'));
  const int hours = in.number(2);
  in.expect(in.take(':'));
  const int minutes = in.number(2);
  in.expect(rules.any_offset || (hours <= 23 && minutes <= 59));
  const int seconds = hours * 3600 + minutes * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::array<char, 20> rfc3339_chars(std::int64_t unix_seconds) {
  return chars_of(Civil(unix_seconds));
}

std::string format_rfc3339(std::int64_t unix_seconds) {
  const Civil time(unix_seconds);
  if (time.year() >= 0 && time.year() <= 9999) {
    const auto text = chars_of(time);
    return {text.data(), text.size()};
  }
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", time.year(), time.month(), time.day(),
                     time.hour(), time.minute(), time.second());
}

std::string format_rfc3339_micros(std::int64_t unix_micros) {
  std::int64_t seconds = unix_micros / kMicrosPerSecond;
  if (unix_micros % kMicrosPerSecond < 0) --seconds;
  std::string text = format_rfc3339(seconds);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, unix_micros - seconds * kMicrosPerSecond);
}

std::optional<UnixTime> parse_rfc3339(std::string_view text, const Rfc3339Rules& rules) {
  Reader in(text);
  const int year = in.number(4);
  in.expect(in.take('-'));
  const int month = in.number(2);
  in.expect(in.take('-'));
  const int day = in.number(2);
  in.expect(in.take('T') || in.take('t') || (rules.space_for_t && in.take(' ')));
  const int hour = in.number(2);
  in.expect(in.take(':'));
  const int minute = in.number(2);
  in.expect(in.take(':'));
  const int second = in.number(2);
  const std::int32_t nanos = in.take('.') ? in.nanos() : 0;
  const int offset = take_offset(in, rules);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!in.done() || !date.ok() || year < rules.first_year || year > rules.last_year || hour > 23 ||
      minute > 59 || second > 60) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t of_day = std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second;
  return UnixTime{.seconds = days * 86'400 + of_day - offset, .nanos = nanos};
}

}  // namespace stowage::base
