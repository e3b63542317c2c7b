#include "dialect/claims.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/model/node.h"
#include "dialect/amounts.h"

namespace stowage::dialect {
namespace {

constexpr std::size_t kShown = 64;

bool parse_number(std::string_view text, std::int32_t most, std::int32_t& out) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, out);
  return parsed.ec == std::errc{} && parsed.ptr == end && out >= 0 && out <= most;
}

// Cuts the text at the last `c` and returns the part after it; unset if none exists.
std::optional<std::string_view> cut_last(std::string_view& text, char c) {
  const auto at = text.rfind(c);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

// "0_GPU-a_10_2048". Only the id may contain further separators.
Result<AnnotatedCard> parse_card(std::string_view text) {
  AnnotatedCard card;
  std::string_view rest = text;
  const auto memory = cut_last(rest, '_');
  const auto percent = cut_last(rest, '_');
  const auto first = rest.find('_');
  const bool good = memory && percent && first != std::string_view::npos &&
                    parse_number(rest.substr(0, first), kMaxCardIndex, card.index) &&
                    parse_number(*percent, 100, card.percent) &&
                    parse_number(*memory, core::kMaxCardMemoryMib, card.memory_mib);
  if (!good || first + 1 == rest.size()) {
    return fail(
        fmt::format("\"{}\" is not index_id_percent_MiB of a card", text.substr(0, kShown)));
  }
  card.id = rest.substr(first + 1);
  return card;
}

Result<Claim> parse_claim(std::string_view text) {
  const auto open = text.find('[');
  if (open == 0 || open == std::string_view::npos || text.back() != ']') {
    return fail(fmt::format("\"{}\" is not container[cards]", text.substr(0, kShown)));
  }
  Claim claim{.container = std::string(text.substr(0, open))};
  std::string_view list = text.substr(open + 1, text.size() - open - 2);
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    STOWAGE_TRY(card, parse_card(entry));
    claim.cards.push_back(std::move(card));
  }
  return claim;
}

}  // namespace

std::string claims_text(const std::vector<Claim>& claims) {
  std::string text;
  for (const Claim& claim : claims) {
    if (!text.empty()) text += ';';
    text += claim.container + '[';
    for (const AnnotatedCard& card : claim.cards) {
      if (text.back() != '[') text += ',';
      text += fmt::format("{}_{}_{}_{}", card.index, card.id, card.percent, card.memory_mib);
    }
    text += ']';
  }
  return text;
}

Result<std::vector<Claim>> parse_claims(std::string_view text) {
  std::vector<Claim> claims;
  text = trimmed(text);
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    if (entry.empty()) continue;
    STOWAGE_TRY(claim, parse_claim(entry));
    const bool again = std::any_of(claims.begin(), claims.end(), [&](const Claim& other) {
      return other.container == claim.container;
    });
    if (again) return fail(fmt::format("container \"{}\" appears twice", claim.container));
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace stowage::dialect
