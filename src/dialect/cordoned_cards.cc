#include "dialect/cordoned_cards.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "core/model/counted.h"
#include "dialect/amounts.h"
#include "dialect/own_annotations.h"

namespace stowage::dialect {
namespace {

constexpr std::size_t kMaxText = 8192;  // bytes: 64 ids are about 3 KiB
constexpr std::size_t kShown = 100;     // characters of a name

bool names(std::string_view name, const core::Card& card) {
  return name == card.id || name == std::to_string(card.index);
}

}  // namespace

void cordon(const NodeObject& node, std::vector<core::Card>& cards,
            std::vector<std::string>& notes) {
  const std::string* text = find(node.annotations, kCordonedCardsAnnotation);
  if (text == nullptr) return;
  const auto note = [&](const std::string& what) {
    notes.push_back(fmt::format("annotation {}: {}", kCordonedCardsAnnotation, what));
  };
  if (text->size() > kMaxText) return note(fmt::format("longer than {} bytes; ignored", kMaxText));
  std::string_view rest = *text;
  for (std::size_t count = 0; !rest.empty(); ++count) {
    if (count == core::kMaxCardsPerNode) return note("too many names; the rest is ignored");
    const std::string_view name = base::trim(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), rest.find(',')));
    if (!rest.empty()) rest.remove_prefix(1);
    if (name.empty()) continue;
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [&](const core::Card& each) { return names(name, each); });
    if (card == cards.end()) {
      note(fmt::format("the node has no card \"{}\"", name.substr(0, kShown)));
    } else if (core::counted_card(node.name, card->id)) {
      note(fmt::format("card {} is only counted: its device plugin would still hand it out",
                       card->index));
    } else {
      card->healthy = false;
    }
  }
}

}  // namespace stowage::dialect
