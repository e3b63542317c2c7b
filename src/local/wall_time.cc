#include "local/wall_time.h"

#include <cstdint>

#include <fmt/core.h>

#include "base/rfc3339.h"

namespace stowage::local {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::seconds;

}  // namespace

std::string time_text(WallTime time) {
  return base::format_rfc3339(floor<seconds>(time.time_since_epoch()).count());
}

std::string micro_time_text(WallTime time) {
  return base::format_rfc3339_micros(time.time_since_epoch().count());
}

std::optional<WallTime> parse_time(std::string_view text) {
  const auto time = base::parse_rfc3339(text, {.any_offset = true});
  if (!time) return std::nullopt;
  return WallTime{seconds{time->seconds}} + microseconds{time->nanos / 1000};
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
