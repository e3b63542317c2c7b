#include "card_sums.h"

#include <algorithm>

namespace stowage::faults {

void CardSums::add_named(const PodView& pod) {
  for (const Share& share : pod.shares) {
    Load& load = named_[share.card];
    load.milli += share.milli;
    load.memory_mib += share.memory_mib;
    load.pods.insert(pod.uid);
  }
}

bool CardSums::fit_on_one(const Load& a, const Load& b) const {
  const std::int64_t memory = node_.cards.empty() ? 0 : node_.cards.front().memory_mib;
  return a.milli + b.milli <= 1000 && a.memory_mib + b.memory_mib <= memory &&
         std::none_of(a.pods.begin(), a.pods.end(),
                      [&](const std::string& uid) { return b.pods.contains(uid); });
}

// By trying all: there are few.
std::size_t CardSums::least(std::vector<Load>& cards, const std::vector<Load>& vanished,
                            std::size_t next) const {
  if (next == vanished.size()) return cards.size();
  const Load& load = vanished[next];
  cards.push_back(load);
  std::size_t best = least(cards, vanished, next + 1);
  cards.pop_back();
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (!fit_on_one(cards[i], load)) continue;
    const Load was = cards[i];
    cards[i].milli += load.milli;
    cards[i].memory_mib += load.memory_mib;
    cards[i].pods.insert(load.pods.begin(), load.pods.end());
    best = std::min(best, least(cards, vanished, next + 1));
    cards[i] = was;
  }
  return best;
}

std::int64_t CardSums::cards() const {
  std::vector<Load> shown;
  std::vector<Load> vanished;
  for (const auto& [id, load] : named_) {
    const bool here = std::any_of(node_.cards.begin(), node_.cards.end(),
                                  [&id = id](const CardView& card) { return card.id == id; });
    (here ? shown : vanished).push_back(load);
  }
  const auto named = static_cast<std::int64_t>(least(shown, vanished, 0));
  return devices_ + std::max(unnamed_, named);
}

}  // namespace stowage::faults
