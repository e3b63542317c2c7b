#include "core/explain/details.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"

namespace stowage::core {
namespace {

constexpr std::size_t kNameShown = 64;  // most characters shown of a name from outside

std::string shown(std::string_view name) {
  if (name.empty()) return "(unnamed)";
  return std::string(name.substr(0, kNameShown)) + (name.size() > kNameShown ? "..." : "");
}

std::string joined(const std::vector<std::string>& list, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) {
    text += (text.empty() ? "" : ", ") + shown(list[i]);
  }
  if (list.size() > most) text += fmt::format(" and {} more", list.size() - most);
  return text;
}

// A model whose name contains the word, or is spelled similarly.
std::string meant(const std::vector<std::string>& asked, const std::vector<ModelCards>& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& entry : known) names.push_back(base::ascii_lower(entry.model));
  for (const std::string& asked_for : asked) {
    const std::string word = base::ascii_lower(asked_for);
    auto at = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return !word.empty() && name.find(word) != std::string::npos;
    });
    if (at == names.end() && word.size() <= kNameShown) {
      const std::string near = base::nearest(word, names);
      if (!near.empty()) at = std::find(names.begin(), names.end(), near);
    }
    if (at != names.end()) return known[static_cast<std::size_t>(at - names.begin())].model;
  }
  return {};
}

}  // namespace

std::string describe(const QuotaExcess& excess) {
  const char* unit = "";
  switch (excess.unit) {
    case QuotaExcess::Unit::cards: unit = excess.asked == 1 ? "card" : "cards"; break;
    case QuotaExcess::Unit::milli: unit = "milli"; break;
    case QuotaExcess::Unit::memory_mib: unit = "MiB"; break;
  }
  const std::string of = excess.model == "*" ? std::string() : " of " + shown(excess.model);
  return fmt::format("asked {} {}{}, used {} of {}", excess.asked, unit, of, excess.used,
                     excess.allowed);
}

std::string describe(const QuotaBounds& bounds) {
  if (!bounds.by_node || bounds.models.empty()) return {};
  std::string text = fmt::format("it allows only nodes with {}={}", bounds.model_label,
                                 joined(bounds.models, kModelsShown));
  if (bounds.pools.empty()) return text;
  return text + fmt::format(" and {}={}", bounds.pool_label, joined(bounds.pools, kModelsShown));
}

std::string unknown_models(const std::vector<std::string>& asked, std::vector<ModelCards> known) {
  std::string text = fmt::format("asked for {}", joined(asked, kNamesShown));
  if (known.empty()) return text + "; no node names the model of its cards";
  std::stable_sort(known.begin(), known.end(), [](const ModelCards& a, const ModelCards& b) {
    return a.cards != b.cards ? a.cards > b.cards : a.model < b.model;
  });
  if (const std::string near = meant(asked, known); !near.empty()) {
    text += fmt::format("; did you mean {}?", shown(near));
  }
  std::vector<std::string> there;
  for (const auto& entry : known) {
    there.push_back(fmt::format("{} {}", entry.cards, shown(entry.model)));
  }
  return text + "; there are " + joined(there, kModelsShown);
}

std::string named_cards(const std::vector<CardPlace>& cards) {
  std::string text;
  for (const auto& card : cards) {
    if (!text.empty()) text += "; ";
    text += card.node.empty()
                ? fmt::format("no node has card {}", shown(card.id))
                : fmt::format("card {} is on node {}", shown(card.id), shown(card.node));
  }
  return text;
}

std::string unhealthy_cards(const std::vector<CardPlace>& list, std::int64_t all) {
  std::string text;
  for (const auto& card : list) {
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", shown(card.id), shown(card.node));
  }
  const std::int64_t more = all - static_cast<std::int64_t>(list.size());
  return more > 0 ? text + fmt::format(" and {} more", more) : text;
}

}  // namespace stowage::core
