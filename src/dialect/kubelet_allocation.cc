#include "dialect/kubelet_allocation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dialect/amounts.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kReplica = "::";

using Positions = std::vector<std::uint32_t>;

Positions positions_of(const KubeletAllocation& allocation, const std::string& container,
                       const core::NodeSpec& node) {
  const auto said = allocation.find(container);
  if (said == allocation.end()) return {};
  std::set<std::uint32_t> cards;
  for (const std::string& device : said->second) {
    if (const auto card = card_of_device(device, node)) cards.insert(*card);
  }
  return {cards.begin(), cards.end()};
}

Result<std::vector<core::CardShare>> shares_of(const core::ContainerSpec& asks,
                                               const core::NodeSpec& node, const Positions& cards) {
  if (std::ssize(cards) != asks.gpu.count) {
    return fail(fmt::format("container \"{}\" asks for {} cards, and the kubelet has given it {}",
                            asks.name, asks.gpu.count, cards.size()));
  }
  std::vector<core::CardShare> shares;
  for (const std::uint32_t card : cards) shares.push_back(charge(asks.gpu, node, card));
  return shares;
}

}  // namespace

std::optional<std::uint32_t> card_of_device(std::string_view device, const core::NodeSpec& node) {
  const std::string_view id = device.substr(0, device.find(kReplica));
  const auto found = std::find_if(node.cards.begin(), node.cards.end(),
                                  [&](const core::Card& card) { return card.id == id; });
  if (found == node.cards.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - node.cards.begin());
}

std::vector<std::string> cards_in(const KubeletAllocation& allocation, const core::NodeSpec& node) {
  std::set<std::string> ids;
  for (const auto& [container, devices] : allocation) {
    for (const std::uint32_t card : positions_of(allocation, container, node)) {
      ids.insert(node.cards[card].id);
    }
  }
  return {ids.begin(), ids.end()};
}

Result<std::optional<core::Assignment>> cards_by_kubelet(const core::PodSpec& pod,
                                                         const core::NodeSpec& node,
                                                         const KubeletAllocation& allocation) {
  if (!core::asks_for_cards(pod) || cards_in(allocation, node).empty()) return std::nullopt;
  core::Assignment cards;
  cards.containers.resize(pod.containers.size());
  std::set<std::uint32_t> all;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const core::ContainerSpec& asks = pod.containers[i];
    if (asks.gpu.count == 0 || asks.phase == core::Phase::init) continue;
    const Positions given = positions_of(allocation, asks.name, node);
    STOWAGE_TRY_ASSIGN(cards.containers[i], shares_of(asks, node, given));
    all.insert(given.begin(), given.end());
  }
  // An init container got its devices first, and the others then got the same ones.
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const core::ContainerSpec& asks = pod.containers[i];
    if (asks.gpu.count == 0 || asks.phase != core::Phase::init) continue;
    Positions first(all.begin(), all.end());
    if (std::ssize(first) > asks.gpu.count) first.resize(static_cast<std::size_t>(asks.gpu.count));
    STOWAGE_TRY_ASSIGN(cards.containers[i], shares_of(asks, node, first));
  }
  return cards;
}

}  // namespace stowage::dialect
