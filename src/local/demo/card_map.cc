#include "local/demo/card_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/model/node.h"
#include "dialect/dialect.h"
#include "local/controllers/workload.h"
#include "local/kubelet/admission.h"

namespace stowage::local {
namespace {

constexpr std::array<std::string_view, 9> kBlocks = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kAscii = {".", "1", "2", "3", "4", "5", "6", "7", "#"};

constexpr std::string_view kNodeHead = "node";
constexpr std::string_view kModelHead = "cards";
constexpr std::string_view kPlain = "\033[0m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kShared = "\033[32m";
constexpr std::string_view kFull = "\033[36m";
constexpr std::string_view kBad = "\033[31m";

std::vector<CardFill> inventory_of(const json::object& node, std::string& model) {
  std::vector<CardFill> cards;
  const auto inventory = parse_json(annotation(node, dialect::kInventoryAnnotation));
  if (!inventory || !inventory->is_object()) return cards;
  for (const json::object* card : objects_at(inventory->get_object(), "cards")) {
    cards.push_back({.id = std::string(text_at(*card, "id")),
                     .memory_mib = int_at(*card, "memoryMiB").value_or(0)});
    if (model.empty()) model = text_at(*card, "model");
  }
  return cards;
}

std::string cell(const CardFill& card, const MapStyle& style) {
  const int percent = card.percent();
  const auto level = static_cast<std::size_t>((percent * 8 + 99) / 100);
  const std::string_view glyph = style.unicode ? kBlocks[level] : kAscii[level];
  std::string text =
      percent == 0 ? fmt::format("{}   ", glyph) : fmt::format("{}{:>3}", glyph, percent);
  if (!style.colour) return text;
  const std::string_view tint = percent == 0 ? kDim : percent == 100 ? kFull : kShared;
  return fmt::format("{}{}{}", tint, text, kPlain);
}

std::size_t widest(std::string_view head, const std::vector<NodeFill>& nodes,
                   std::string NodeFill::*text) {
  std::size_t width = head.size();
  for (const NodeFill& node : nodes) width = std::max(width, (node.*text).size());
  return width;
}

struct Totals {
  std::int64_t cards = 0;
  std::int64_t free = 0;
  std::int64_t milli = 0;
  std::int64_t pods = 0;
};

// The part of a card that others cannot use: the larger of compute and memory.
std::int64_t in_use(const CardFill& card) {
  const std::int64_t by_memory =
      card.memory_mib == 0 ? 0 : card.used_mib * core::kMilliPerCard / card.memory_mib;
  return std::min<std::int64_t>(std::max(card.used_milli, by_memory), core::kMilliPerCard);
}

void add(Totals& totals, const NodeFill& node) {
  totals.pods += node.pods;
  for (const CardFill& card : node.cards) {
    ++totals.cards;
    totals.free += card.pods == 0 ? 1 : 0;
    totals.milli += in_use(card);
  }
}

std::string line(const NodeFill& node, std::size_t name_width, std::size_t model_width,
                 std::size_t cards_width, const MapStyle& style) {
  std::string text =
      fmt::format("  {:<{}}  {:<{}} ", node.name, name_width, node.model, model_width);
  for (const CardFill& card : node.cards) text += " " + cell(card, style);
  text.append((cards_width - node.cards.size()) * 5, ' ');
  Totals totals;
  add(totals, node);
  text += fmt::format("  {:>5} of {}, {} {}", cards_text(totals.milli), totals.cards, totals.pods,
                      totals.pods == 1 ? "pod" : "pods");
  if (!node.ready) {
    text += style.colour ? fmt::format("  {}not ready{}", kBad, kPlain) : "  not ready";
  }
  return text + "\n";
}

}  // namespace

int CardFill::percent() const {
  if (pods == 0 && used_milli == 0 && used_mib == 0) return 0;
  const auto thousandths = in_use(*this);
  return std::clamp(static_cast<int>(thousandths / 10), 1, 100);
}

std::string cards_text(std::int64_t milli) {
  std::string text = fmt::format("{}.{:03}", milli / 1000, milli % 1000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::vector<NodeFill> fill_cards(const std::vector<json::object>& nodes,
                                 const std::vector<json::object>& pods) {
  std::map<std::string, NodeFill> fills;
  for (const json::object& node : nodes) {
    const std::string name(text_at(node, "metadata.name"));
    NodeFill& fill = fills[name];
    fill.name = name;
    fill.cards = inventory_of(node, fill.model);
    const json::object* ready = find_condition(node, "Ready");
    fill.ready = ready != nullptr && text_at(*ready, "status") == "True";
  }
  for (const json::object& pod : pods) {
    const auto fill = fills.find(std::string(text_at(pod, "spec.nodeName")));
    const std::string_view phase = text_at(pod, "status.phase");
    if (fill == fills.end() || phase == "Succeeded" || phase == "Failed") continue;
    ++fill->second.pods;
    for (const CardUse& use : cards_of(pod)) {
      for (CardFill& card : fill->second.cards) {
        if (card.id != use.card) continue;
        card.used_milli += use.milli;
        card.used_mib += use.memory_mib;
        ++card.pods;
      }
    }
  }
  std::vector<NodeFill> result;
  for (auto& [name, fill] : fills) result.push_back(std::move(fill));
  return result;
}

std::string render_card_map(const std::vector<NodeFill>& nodes, const MapStyle& style) {
  const std::size_t name_width = widest(kNodeHead, nodes, &NodeFill::name);
  const std::size_t model_width = widest(kModelHead, nodes, &NodeFill::model);
  std::size_t cards_width = 0;
  for (const NodeFill& node : nodes) cards_width = std::max(cards_width, node.cards.size());
  std::string text =
      fmt::format("  {:<{}}  {:<{}} ", kNodeHead, name_width, kModelHead, model_width);
  for (std::size_t i = 0; i < cards_width; ++i) text += fmt::format(" {:<4}", i);
  text += "  in use\n";
  Totals totals;
  Totals hidden;
  std::size_t shown = 0;
  for (const NodeFill& node : nodes) {
    add(totals, node);
    if (shown == style.nodes_max) {
      add(hidden, node);
      continue;
    }
    ++shown;
    text += line(node, name_width, model_width, cards_width, style);
  }
  if (shown < nodes.size()) {
    text += fmt::format("  ... and {} more nodes, {} of {} cards in use, {} pods\n",
                        nodes.size() - shown, cards_text(hidden.milli), hidden.cards, hidden.pods);
  }
  const std::int64_t percent = totals.cards == 0 ? 0 : totals.milli / (totals.cards * 10);
  return text + fmt::format("  all: {} of {} cards in use ({} %), {} untouched, {} pods\n",
                            cards_text(totals.milli), totals.cards, percent, totals.free,
                            totals.pods);
}

}  // namespace stowage::local
