#include "gpu/fake_yaml.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number.h"

namespace stowage::gpu {
namespace {

constexpr std::size_t kShown = 64;  // longest value that a message quotes
constexpr yaml::StrictMap::Limits kLimits{
    .shown = kShown, .key_hint = 64, .word = 256, .mappings = 10'000};

std::string shown(const std::string& text) {
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

// Digits, a point and up to `digits` further digits, without the point.
std::optional<std::int64_t> to_decimal(std::string_view text, int digits) {
  constexpr std::size_t kMostDigits = 12;
  const std::size_t point = text.find('.');
  const std::string_view before = text.substr(0, point);
  std::string after(point == std::string_view::npos ? "" : text.substr(point + 1));
  const bool fits = !before.empty() && before.size() <= kMostDigits &&
                    after.size() <= static_cast<std::size_t>(digits) &&
                    (point == std::string_view::npos || !after.empty());
  if (!fits) return std::nullopt;
  after.resize(static_cast<std::size_t>(digits), '0');
  const std::string all = std::string(before) + after;
  const bool only_digits =
      std::all_of(all.begin(), all.end(), [](char c) { return c >= '0' && c <= '9'; });
  return only_digits ? base::parse_number<std::int64_t>(all) : std::nullopt;
}

std::string with_point(std::int64_t number, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  return number % unit == 0 ? fmt::format("{}", number / unit)
                            : fmt::format("{}.{:0{}}", number / unit, number % unit, digits);
}

}  // namespace

Status YamlFields::read(std::string_view text, const std::string& file,
                        const std::function<void(YamlFields&)>& take) {
  STOWAGE_TRY(map,
              yaml::StrictMap::parse(text, {.file = file, .limits = kLimits, .null_at_key = true}));
  YamlFields fields(map);
  take(fields);
  return map.finish();
}

std::vector<yaml::StrictMap::Key> YamlFields::keys_of(
    const std::function<void(YamlFields&)>& take) {
  return yaml::StrictMap::keys_of([&](yaml::StrictMap& map) {
    YamlFields fields(map);
    take(fields);
  });
}

std::optional<std::string> YamlFields::text(const std::string& key) {
  auto word = map_.word(key, "a text");
  if (!word) return std::nullopt;
  const bool prints =
      std::all_of(word->begin(), word->end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (prints) return word;
  refuse(key, "expected a text of letters, digits and signs on one line");
  return std::nullopt;
}

std::optional<bool> YamlFields::flag(const std::string& key) {
  const auto word = map_.word(key, "true or false");
  if (!word) return std::nullopt;
  if (*word == "true") return true;
  if (*word == "false") return false;
  refuse(key, fmt::format("expected true or false, found \"{}\"", shown(*word)));
  return std::nullopt;
}

std::optional<std::int64_t> YamlFields::whole(const std::string& key, Range range) {
  const auto word = map_.word(key, "a whole number");
  if (!word) return std::nullopt;
  const auto number = base::parse_number<std::int64_t>(*word);
  if (number && *number >= range.least && *number <= range.most) return number;
  refuse(key, fmt::format("expected a whole number from {} to {}, found \"{}\"", range.least,
                          range.most, shown(*word)));
  return std::nullopt;
}

std::optional<std::int64_t> YamlFields::decimal(const std::string& key, int digits, Range range) {
  const auto word = map_.word(key, "a number");
  if (!word) return std::nullopt;
  const auto number = to_decimal(*word, digits);
  if (number && *number >= range.least && *number <= range.most) return number;
  refuse(key, fmt::format("expected a number from {} to {} with at most {} decimals, found \"{}\"",
                          with_point(range.least, digits), with_point(range.most, digits), digits,
                          shown(*word)));
  return std::nullopt;
}

void YamlFields::list(const std::string& key, const List& list) {
  map_.list(
      key,
      [&](yaml::StrictMap& map) {
        YamlFields fields(map);
        list.take(fields);
      },
      list.most);
}

std::vector<std::vector<std::int64_t>> YamlFields::triples(const std::string& key,
                                                           std::size_t most) {
  if (!map_.has(key)) return {};
  std::vector<std::vector<std::int64_t>> all;
  const auto rows = map_.rows(key, {.rows_max = most, .columns = 3});
  bool good = rows.has_value();
  for (const auto& row : rows.value_or(yaml::StrictMap::Rows{})) {
    std::vector<std::int64_t>& numbers = all.emplace_back();
    for (const std::string& word : row) {
      const auto number = base::parse_number<std::int64_t>(word);
      good = good && number.has_value();
      numbers.push_back(number.value_or(0));
    }
  }
  if (good) return all;
  refuse(key, fmt::format("expected at most {} lists of three whole numbers, such as [0, 1, 100]",
                          most));
  return {};
}

}  // namespace stowage::gpu
