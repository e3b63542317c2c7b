#include "metricsapi/accept.h"

#include <algorithm>

#include "base/text.h"
#include "net/ascii.h"

namespace stowage::metricsapi {
namespace {

using base::equals_ignoring_case;

constexpr int kBest = 1000;

// Removes and returns the text before the mark, or everything.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return base::trim(part, " \t");
}

// "0.25" in thousandths. An unreadable value counts as the highest, as if it were absent.
int quality(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return kBest;
  int value = text[0] == '1' ? kBest : 0;
  text.remove_prefix(1);
  if (text.empty()) return value;
  if (text[0] != '.') return kBest;
  text.remove_prefix(1);
  int unit = 100;
  for (const char c : text.substr(0, 3)) {
    if (c < '0' || c > '9') return kBest;
    value += (c - '0') * unit;
    unit /= 10;
  }
  return std::min(value, kBest);
}

struct Wish {
  std::optional<Form> form;  // unset: a type that we do not produce
  int quality = kBest;
};

Wish read_wish(std::string_view range) {
  Wish wish;
  const std::string_view type = take_until(range, ';');
  std::string_view as;
  std::string_view group;
  std::string_view version;
  while (!range.empty()) {
    std::string_view value = take_until(range, ';');
    const std::string_view key = take_until(value, '=');
    value = base::trim(value, " \t");
    if (equals_ignoring_case(key, "q")) wish.quality = quality(value);
    if (equals_ignoring_case(key, "as")) as = value;
    if (equals_ignoring_case(key, "g")) group = value;
    if (equals_ignoring_case(key, "v")) version = value;
  }
  const bool json = equals_ignoring_case(type, "application/json");
  if (json && as == "Table" && group == "meta.k8s.io" && version == "v1") {
    wish.form = Form::table;
  } else if (as.empty() && (json || type == "*/*" || equals_ignoring_case(type, "application/*"))) {
    wish.form = Form::object;
  }
  return wish;
}

}  // namespace

std::optional<Form> wanted_form(std::string_view accept) {
  accept = base::trim(accept, " \t");
  if (accept.empty()) return Form::object;
  Wish best{.form = std::nullopt, .quality = 0};
  while (!accept.empty()) {
    const Wish wish = read_wish(take_until(accept, ','));
    if (wish.form && wish.quality > best.quality) best = wish;
  }
  return best.form;
}

}  // namespace stowage::metricsapi
