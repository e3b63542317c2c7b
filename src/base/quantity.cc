#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace stowage::base {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

constexpr int kNanoDigits = 9;
constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMilliInNano = 1'000'000;
// Amounts saturate at 1e29 units, far beyond 64 bits.
constexpr int kMostDigits = 38;
constexpr std::size_t kMaxText = 256;
constexpr int kMaxExponent = 1'000'000;

constexpr UnsignedWide power_of_ten(int exponent) {
  UnsignedWide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}
constexpr UnsignedWide kMost = power_of_ten(kMostDigits);

// The suffix after the digits: a power of ten or a power of 1024.
struct Scale {
  int ten = 0;
  int kibi = 0;
};

struct Suffix {
  std::string_view text;
  Scale scale;
};
constexpr Suffix kSuffixes[] = {
    {"", {0, 0}},   {"n", {-9, 0}}, {"u", {-6, 0}}, {"m", {-3, 0}}, {"k", {3, 0}},  {"M", {6, 0}},
    {"G", {9, 0}},  {"T", {12, 0}}, {"P", {15, 0}}, {"E", {18, 0}}, {"Ki", {0, 1}}, {"Mi", {0, 2}},
    {"Gi", {0, 3}}, {"Ti", {0, 4}}, {"Pi", {0, 5}}, {"Ei", {0, 6}},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Parses the suffix or exponent. False if it is neither.
bool read_scale(std::string_view text, Scale& scale) {
  const auto* known = std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                                   [&](const Suffix& suffix) { return suffix.text == text; });
  if (known != std::end(kSuffixes)) {
    scale = known->scale;
    return true;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  text.remove_prefix(1);
  if (text[0] == '+') {
    text.remove_prefix(1);
    if (text.empty() || text[0] == '-') return false;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (end != text.data() + text.size()) return false;
  // Beyond this, all amounts saturate or round to the same value.
  if (error == std::errc::result_out_of_range)
    exponent = text[0] == '-' ? -kMaxExponent : kMaxExponent;
  else if (error != std::errc())
    return false;
  scale.ten = std::clamp(exponent, -kMaxExponent, kMaxExponent);
  return true;
}

// Decimal digits, the most significant first, times 1024.
void times_kibi(std::vector<int>& digits) {
  int carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const int product = *digit * 1024 + carry;
    *digit = product % 10;
    carry = product / 10;
  }
  for (; carry > 0; carry /= 10) digits.insert(digits.begin(), carry % 10);
}

// digits * 10^scale.ten * 1024^scale.kibi, rounded up, at most kMost. Any number of digits.
UnsignedWide long_amount(std::string_view text, Scale scale) {
  std::vector<int> digits;
  for (const char c : text) {
    if (is_digit(c) && (c != '0' || !digits.empty())) digits.push_back(c - '0');
  }
  if (digits.empty()) return 0;
  for (int i = 0; i < scale.kibi; ++i) times_kibi(digits);
  const int whole = static_cast<int>(digits.size()) + scale.ten;  // digits before the decimal point
  if (whole > kMostDigits) return kMost;
  UnsignedWide amount = 0;
  for (int i = 0; i < whole; ++i) {
    const auto at = static_cast<std::size_t>(i);
    amount = amount * 10 + static_cast<unsigned>(at < digits.size() ? digits[at] : 0);
  }
  for (auto i = static_cast<std::size_t>(std::max(whole, 0)); i < digits.size(); ++i) {
    if (digits[i] != 0) return amount + 1;
  }
  return amount;
}

// The same for at most kShortDigits digits, whose product with 1024^6 fits 128 bits.
constexpr int kShortDigits = 18;
UnsignedWide short_amount(std::uint64_t digits, Scale scale) {
  if (digits == 0) return 0;
  const UnsignedWide amount = UnsignedWide{digits} << (10U * static_cast<unsigned>(scale.kibi));
  if (scale.ten >= kMostDigits) return kMost;
  if (scale.ten >= 0) {
    const UnsignedWide factor = power_of_ten(scale.ten);
    return amount > kMost / factor ? kMost : amount * factor;
  }
  if (scale.ten < -kMostDigits) return 1;
  const UnsignedWide divisor = power_of_ten(-scale.ten);
  return amount / divisor + (amount % divisor != 0 ? 1 : 0);
}

std::string digits_of(UnsignedWide amount) {
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(amount % 10));
    amount /= 10;
  } while (amount != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

// Rounds away from zero, like the API's own type.
Wide divided(Wide nano, Wide unit) {
  const Wide whole = nano / unit;
  const Wide rest = nano % unit;
  if (rest == 0) return whole;
  return rest > 0 ? whole + 1 : whole - 1;
}

bool fits_64(Wide amount) {
  return amount >= std::numeric_limits<std::int64_t>::min() &&
         amount <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto wrong = [&] {
    const std::string_view shown = text.substr(0, 64);
    return fail(fmt::format(
        "\"{}\" is not a quantity; write a number such as 2, 250m, 1.5Gi or 1e3", shown));
  };
  if (text.size() > kMaxText) return wrong();
  std::size_t at = 0;
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) ++at;
  const std::size_t first = at;
  int digits = 0;
  int after_point = 0;
  bool point = false;
  std::uint64_t value = 0;  // of the digits, while they are few
  for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at) {
    if (text[at] == '.') {
      if (point) return wrong();
      point = true;
      continue;
    }
    if (++digits <= kShortDigits) value = value * 10 + static_cast<unsigned>(text[at] - '0');
    if (point) ++after_point;
  }
  Scale scale;
  if (digits == 0 || !read_scale(text.substr(at), scale)) return wrong();
  scale.ten += kNanoDigits - after_point;
  const UnsignedWide amount = digits <= kShortDigits
                                  ? short_amount(value, scale)
                                  : long_amount(text.substr(first, at - first), scale);
  Quantity quantity;
  quantity.nano_ = minus ? -static_cast<Nano>(amount) : static_cast<Nano>(amount);
  return quantity;
}

Quantity Quantity::of(std::int64_t units) {
  Quantity quantity;
  quantity.nano_ = Nano{units} * kNano;
  return quantity;
}

Result<std::int64_t> Quantity::units() const {
  const Wide amount = divided(nano_, kNano);
  if (!fits_64(amount)) {
    return fail(fmt::format("{} is too large; the maximum is {}", text(),
                            std::numeric_limits<std::int64_t>::max()));
  }
  return static_cast<std::int64_t>(amount);
}

Result<std::int64_t> Quantity::milli() const {
  const Wide amount = divided(nano_, kMilliInNano);
  if (!fits_64(amount)) {
    return fail(fmt::format("{} is too large in thousandths; the maximum is {}", text(),
                            std::numeric_limits<std::int64_t>::max() / 1000));
  }
  return static_cast<std::int64_t>(amount);
}

bool Quantity::whole() const { return nano_ % kNano == 0; }

std::string Quantity::text() const {
  const auto amount = static_cast<UnsignedWide>(nano_ < 0 ? -nano_ : nano_);
  const char* sign = nano_ < 0 ? "-" : "";
  std::string plain = digits_of(amount / static_cast<UnsignedWide>(kNano));
  if (amount == kMost) return fmt::format("{}{} or more", sign, plain);
  const auto rest = static_cast<std::int64_t>(amount % static_cast<UnsignedWide>(kNano));
  if (rest == 0) return sign + plain;
  std::string fraction = fmt::format("{:09}", rest);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fmt::format("{}{}.{}", sign, plain, fraction);
}

}  // namespace stowage::base
