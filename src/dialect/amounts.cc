#include "dialect/amounts.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

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

Result<core::GpuAsk> percent_ask(const PodObject& pod, const ContainerObject& container,
                                 const PercentAsk& ask, const ReadOptions& options) {
  if (ask.percent < kPercentPerCard) {
    core::GpuAsk share{.count = 1};
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
  return core::GpuAsk{.count = static_cast<std::int32_t>(count)};
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

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    while (!entry.empty() && blank(entry.front())) entry.remove_prefix(1);
    while (!entry.empty() && blank(entry.back())) entry.remove_suffix(1);
    if (!entry.empty()) list.emplace_back(entry);
  }
  return list;
}

const std::string* find(const std::map<std::string, std::string>& texts, std::string_view key) {
  const auto found = texts.find(std::string(key));
  return found == texts.end() ? nullptr : &found->second;
}

std::int64_t offered(const NodeObject& node, std::string_view resource, Notes& notes) {
  // A node that says nothing about what is allocatable, as in a request that someone made by hand,
  // offers its capacity.
  const auto& amounts = node.allocatable.empty() ? node.capacity : node.allocatable;
  const auto found = amounts.find(std::string(resource));
  if (found == amounts.end()) return 0;
  const auto units = found->second.units();
  if (!units || *units < 0 || !found->second.whole()) {
    notes.push_back(fmt::format("{} is {}, which is no number of anything; it is taken for 0",
                                resource, found->second.text()));
    return 0;
  }
  return *units;
}

std::string synthetic_id(const std::string& node, std::int64_t index) {
  return fmt::format("{}/{}", node, index);
}

std::vector<core::Card> equal_cards(const NodeObject& node, const EqualCards& cards) {
  std::vector<core::Card> list;
  // More than a node may have are counted, so that the mistake can be shown, but not all made.
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

core::CardShare charge(const core::GpuAsk& ask, const core::NodeSpec& node, std::size_t card) {
  core::CardShare share{.card = static_cast<std::uint32_t>(card)};
  const std::int32_t all = node.cards[card].memory_mib;
  if (ask.whole()) {
    share.milli = core::kMilliPerCard;
    share.memory_mib = all;
    return share;
  }
  share.milli = ask.milli.value_or(0);
  const std::int32_t memory = ask.memory_mib.value_or(0);
  share.memory_mib = memory == core::kWholeMemory ? all : memory;
  return share;
}

Result<std::vector<core::CardShare>> cards_by_index(std::string_view list,
                                                    const core::ContainerSpec& asks,
                                                    const core::NodeSpec& node) {
  std::vector<core::CardShare> shares;
  for (const std::string& entry : comma_list(list)) {
    std::int32_t index = 0;
    const char* end = entry.data() + entry.size();
    const auto parsed = std::from_chars(entry.data(), end, index);
    const auto card = std::find_if(node.cards.begin(), node.cards.end(),
                                   [&](const core::Card& c) { return c.index == index; });
    if (parsed.ec != std::errc{} || parsed.ptr != end || card == node.cards.end()) {
      return fail(fmt::format("container \"{}\": node {} has no card {}", asks.name, node.name,
                              entry.substr(0, 64)));
    }
    const auto share = charge(asks.gpu, node, static_cast<std::size_t>(card - node.cards.begin()));
    if (std::find(shares.begin(), shares.end(), share) != shares.end()) {
      return fail(fmt::format("container \"{}\" is given card {} twice", asks.name, index));
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
