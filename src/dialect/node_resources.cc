#include "dialect/node_resources.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number.h"
#include "dialect/amounts.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::int64_t kPercentPerCard = 100;
constexpr std::size_t kRecordMax = 64;  // names in a record
constexpr std::size_t kRecordBytesMax = 8192;

std::int64_t of_card(const CardAmount& amount, const core::Card& card,
                     const NodeAmountsOptions& options) {
  switch (amount.of) {
    case CardAmount::Of::requests: return card.slots > 0 ? card.slots : options.requests_per_card;
    case CardAmount::Of::memory: return card.memory_mib / amount.unit_mib;
    case CardAmount::Of::percent: break;
  }
  return kPercentPerCard;
}

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The amounts of names that any dialect publishes. Absurd ones count as 1: only whether it is our
// own amount matters.
NodeAmounts published_of(const Quantities& quantities) {
  NodeAmounts amounts;
  for (const Dialect& dialect : dialects()) {
    for (const CardAmount& amount : dialect.publishes) {
      const auto found = quantities.find(std::string(amount.resource));
      if (found == quantities.end()) continue;
      amounts.emplace(found->first, found->second.units().value_or(1));
    }
  }
  return amounts;
}

std::int64_t amount_in(const NodeAmounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

// Neither absent, nor reset by the kubelet, nor as we wrote it.
bool taken_over(const NodeOffer& there, const std::string& name, std::int64_t recorded) {
  const auto differs = [&](const NodeAmounts& amounts) {
    const std::int64_t amount = amount_in(amounts, name);
    return amount != 0 && amount != recorded;
  };
  return differs(there.capacity) || differs(there.allocatable);
}

}  // namespace

std::vector<std::string> published_dialects() {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects()) {
    if (!dialect.publishes.empty()) names.emplace_back(dialect.name);
  }
  return names;
}

bool is_published(std::string_view resource, std::span<const std::string> names) {
  return std::any_of(dialects().begin(), dialects().end(), [&](const Dialect& dialect) {
    return contains(names, dialect.name) &&
           std::any_of(dialect.publishes.begin(), dialect.publishes.end(),
                       [&](const CardAmount& amount) { return amount.resource == resource; });
  });
}

NodeAmounts node_amounts(std::span<const core::Card> cards, const NodeAmountsOptions& options) {
  NodeAmounts amounts;
  for (const Dialect& dialect : dialects()) {
    if (!contains(options.dialects, dialect.name)) continue;
    for (const CardAmount& amount : dialect.publishes) {
      std::int64_t sum = 0;
      for (const core::Card& card : cards) sum += of_card(amount, card, options);
      if (sum > 0) amounts[std::string(amount.resource)] = sum;
    }
  }
  return amounts;
}

NodeAmounts recorded_amounts(const NodeObject& node) {
  const std::string* text = find(node.annotations, kNodeResourcesAnnotation);
  if (text == nullptr || text->size() > kRecordBytesMax) return {};
  NodeAmounts amounts;
  for (const std::string& entry : comma_list(*text)) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || amounts.size() == kRecordMax) return {};
    const auto amount = base::parse_number<std::int64_t>(entry.substr(equals + 1));
    if (!amount || *amount <= 0) return {};
    amounts.insert_or_assign(entry.substr(0, equals), *amount);
  }
  return amounts;
}

NodeOffer read_offer(const NodeObject& node) {
  return {.uid = node.uid,
          .resource_version = node.resource_version,
          .recorded = recorded_amounts(node),
          .capacity = published_of(node.capacity),
          .allocatable = published_of(node.allocatable),
          .recorded_text = find(node.annotations, kNodeResourcesAnnotation) != nullptr};
}

NodeOfferPlan plan_offer(const NodeOffer& there, const NodeAmounts& wanted) {
  NodeOfferPlan plan;
  for (const auto& [name, amount] : wanted) {
    const auto recorded = there.recorded.find(name);
    const bool ours = recorded != there.recorded.end();
    const bool present = there.capacity.contains(name) || there.allocatable.contains(name);
    if (ours ? taken_over(there, name, recorded->second) : present) {
      plan.foreign.push_back(name);
      continue;
    }
    plan.record[name] = amount;
    const bool as_wanted =
        amount_in(there.capacity, name) == amount && amount_in(there.allocatable, name) == amount;
    if (!as_wanted) plan.write[name] = amount;
  }
  for (const auto& [name, amount] : there.recorded) {
    if (wanted.contains(name) || taken_over(there, name, amount)) continue;
    if (there.capacity.contains(name) || there.allocatable.contains(name)) {
      plan.remove.push_back(name);
    }
  }
  const bool record_differs =
      plan.record != there.recorded || (there.recorded_text && there.recorded.empty());
  plan.changes = record_differs || !plan.write.empty() || !plan.remove.empty();
  return plan;
}

std::string record_text(const NodeAmounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, amount);
  }
  return text;
}

}  // namespace stowage::dialect
