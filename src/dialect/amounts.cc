#include "dialect/amounts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/number.h"

namespace stowage::dialect {
namespace {

constexpr std::int64_t kPercentPerCard = 100;
constexpr std::int32_t kMilliPerPercent = core::kMilliPerCard / kPercentPerCard;
constexpr auto kMaxCards = static_cast<std::int64_t>(core::kMaxCardsPerNode);

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string owner(const PodObject& pod, const ContainerObject& container) {
  return fmt::format("pod {}/{} container \"{}\"", pod.ns, pod.name, container.name);
}

Quantities asked(const ContainerObject& container) {
  if (container.only_given) return container.given;
  Quantities amounts = container.requests;
  amounts.insert(container.limits.begin(), container.limits.end());
  for (const auto& [resource, quantity] : container.given) {
    auto& amount = amounts[resource];
    amount = std::max(amount, quantity);
  }
  return amounts;
}

std::optional<base::Quantity> asked(const ContainerObject& container, const std::string& resource) {
  if (const auto request = container.requests.find(resource); request != container.requests.end()) {
    return request->second;
  }
  if (const auto limit = container.limits.find(resource); limit != container.limits.end()) {
    return limit->second;
  }
  return std::nullopt;
}

Result<std::int64_t> whole_amount(const PodObject& pod, const ContainerObject& container,
                                  std::string_view resource) {
  const auto quantity = asked(container, std::string(resource));
  if (!quantity) return 0;
  if (quantity->negative() || !quantity->whole()) {
    return fail(fmt::format("{}: {} is {}; write a whole number of zero or more",
                            owner(pod, container), resource, quantity->text()));
  }
  auto units = quantity->units();
  if (!units) {
    return fail(fmt::format("{}: {}: {}", owner(pod, container), resource, units.error().message));
  }
  return *units;
}

Result<core::GpuRequest> percent_ask(const PodObject& pod, const ContainerObject& container,
                                     const PercentRequest& ask, const ReadOptions& options) {
  if (ask.percent < kPercentPerCard) {
    core::GpuRequest share{.count = 1};
    if (ask.percent > 0) share.milli = static_cast<std::int32_t>(ask.percent) * kMilliPerPercent;
    if (ask.memory_mib > 0) share.memory_mib = static_cast<std::int32_t>(ask.memory_mib);
    return share;
  }
  const std::int64_t count = ask.percent / kPercentPerCard;
  if (count > kMaxCards) {
    return fail(fmt::format("{} asks for {} of {}, that is {} cards; a node has at most {}",
                            owner(pod, container), ask.percent, ask.core_name, count, kMaxCards));
  }
  if (ask.percent % kPercentPerCard != 0 && !options.floor_whole_cards) {
    return fail(fmt::format(
        "{} asks for {} of {}; write {} or {} for whole cards, or less than 100 for a share of one",
        owner(pod, container), ask.percent, ask.core_name, count * kPercentPerCard,
        (count + 1) * kPercentPerCard));
  }
  return core::GpuRequest{.count = static_cast<std::int32_t>(count)};
}

Result<std::int64_t> card_memory_mib(const PodObject& pod, const ContainerObject& container,
                                     std::string_view resource, std::int64_t unit_mib) {
  STOWAGE_TRY(units, whole_amount(pod, container, resource));
  if (units > core::kMaxCardMemoryMib / unit_mib) {
    return fail(fmt::format("{} asks for {} of {}; one is {} MiB, and no card has that much memory",
                            owner(pod, container), units, resource, unit_mib));
  }
  return units * unit_mib;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (const auto entry = trimmed(part); !entry.empty()) list.emplace_back(entry);
  }
  return list;
}

std::vector<std::string> model_spellings(std::string_view model) {
  std::vector<std::string> names;
  const std::string_view name = trimmed(model);
  if (name.empty()) return names;
  names.emplace_back(name);
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), ' ', '-');
  if (dashed != name) names.push_back(std::move(dashed));
  return names;
}

const std::string* find(const std::map<std::string, std::string>& texts, std::string_view key) {
  const auto found = texts.find(std::string(key));
  return found == texts.end() ? nullptr : &found->second;
}

std::int64_t offered(const NodeObject& node, std::string_view resource, Notes& notes) {
  // A node without allocatable resources, as in a handmade request, offers its capacity.
  const auto& amounts = node.allocatable.empty() ? node.capacity : node.allocatable;
  const auto found = amounts.find(std::string(resource));
  if (found == amounts.end()) return 0;
  const auto units = found->second.units();
  if (!units || *units < 0 || !found->second.whole()) {
    notes.push_back(fmt::format("{} is {}, which is not a valid amount; it counts as 0", resource,
                                found->second.text()));
    return 0;
  }
  return *units;
}

std::string synthetic_id(const std::string& node, std::int64_t index) {
  return fmt::format("{}/{}", node, index);
}

std::vector<core::Card> equal_cards(const NodeObject& node, const EqualCards& cards) {
  std::vector<core::Card> list;
  // If there are more cards than a node may have, one more than the limit is created, so that the
  // error is visible.
  for (std::int64_t i = 0; i < std::min(cards.count, kMaxCards + 1); ++i) {
    list.push_back({.id = synthetic_id(node.name, i),
                    .index = static_cast<std::int32_t>(i),
                    .model = cards.model,
                    .memory_mib = static_cast<std::int32_t>(
                        std::min<std::int64_t>(cards.memory_mib, core::kMaxCardMemoryMib))});
  }
  return list;
}

std::optional<CardSource> percent_cards(const NodeObject& node, const PercentCount& count,
                                        Notes& notes) {
  const std::int64_t core = offered(node, count.core_name, notes);
  const std::int64_t memory = offered(node, count.memory_name, notes);
  const std::int64_t cards = core / kPercentPerCard;
  if (core > 0 && cards == 0) {
    notes.push_back(
        fmt::format("{} of {} is less than one card, which is 100", core, count.core_name));
  }
  if (cards == 0) return std::nullopt;
  const std::int64_t each = std::min<std::int64_t>(memory / cards, core::kMaxCardMemoryMib);
  return CardSource{
      .what = std::string(count.core_name),
      .cards = equal_cards(node, {.count = cards, .memory_mib = each * count.unit_mib}),
      .memory_unit_mib = count.unit_mib};
}

core::CardShare charge(const core::GpuRequest& ask, const core::NodeSpec& node, std::size_t card) {
  core::CardShare share{.card = static_cast<std::uint32_t>(card)};
  const std::int32_t all = node.cards[card].memory_mib;
  if (ask.whole()) {
    share.milli = core::kMilliPerCard;
    share.memory_mib = all;
    return share;
  }
  share.milli = ask.milli.value_or(0);
  const std::int32_t memory = ask.memory_mib.value_or(0);
  share.memory_mib = memory == core::kWholeMemory      ? all
                     : memory == core::kMemoryWithCore ? core::memory_with_core(share.milli, all)
                                                       : memory;
  return share;
}

Status check_distinct(const std::vector<core::Card>& cards) {
  std::set<std::string_view> ids;
  std::set<std::int32_t> indexes;
  for (const auto& card : cards) {
    if (!ids.insert(card.id).second) return fail(fmt::format("two cards have the id {}", card.id));
    if (!indexes.insert(card.index).second) {
      return fail(fmt::format("two cards have the index {}", card.index));
    }
  }
  return {};
}

std::optional<std::size_t> card_at_index(const std::vector<core::Card>& cards, std::int64_t index) {
  const auto found = std::find_if(cards.begin(), cards.end(),
                                  [&](const core::Card& card) { return card.index == index; });
  if (found == cards.end()) return std::nullopt;
  return static_cast<std::size_t>(found - cards.begin());
}

std::optional<std::size_t> card_with_id(const core::NodeSpec& node, std::string_view id) {
  const auto found = std::find_if(node.cards.begin(), node.cards.end(),
                                  [&](const core::Card& card) { return card.id == id; });
  if (found == node.cards.end()) return std::nullopt;
  return static_cast<std::size_t>(found - node.cards.begin());
}

Result<std::vector<core::CardShare>> cards_by_index(std::string_view list,
                                                    const core::ContainerSpec& asks,
                                                    const core::NodeSpec& node) {
  std::vector<core::CardShare> shares;
  for (const std::string& entry : comma_list(list)) {
    const auto index = base::parse_number<std::int32_t>(entry);
    const auto card = index ? card_at_index(node.cards, *index) : std::nullopt;
    if (!card) {
      return fail(fmt::format("container \"{}\": node {} has no card {}", asks.name, node.name,
                              entry.substr(0, 64)));
    }
    const auto share = charge(asks.gpu, node, *card);
    if (std::find(shares.begin(), shares.end(), share) != shares.end()) {
      return fail(fmt::format("container \"{}\" is given card {} twice", asks.name, *index));
    }
    shares.push_back(share);
  }
  if (std::ssize(shares) != asks.gpu.count) {
    return fail(fmt::format("container \"{}\" asks for {} cards but is given {}", asks.name,
                            asks.gpu.count, shares.size()));
  }
  return shares;
}

std::string index_list(const std::vector<core::CardShare>& shares, const core::NodeSpec& node) {
  std::string list;
  for (const auto& share : shares) {
    if (!list.empty()) list += ',';
    list += std::to_string(node.cards[share.card].index);
  }
  return list;
}

}  // namespace stowage::dialect
