// Nodes: their resources, and their cards from all sources.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/annotations.h"
#include "dialect/cordoned_cards.h"
#include "dialect/dialect.h"
#include "dialect/node_resources.h"
#include "dialect/table.h"
#include "dialect/vgpu_node.h"

namespace stowage::dialect {
namespace {

std::optional<CardSource> our_inventory(const NodeObject& node, Notes& notes) {
  const std::string* text = find(node.annotations, kInventoryAnnotation);
  if (text == nullptr) return std::nullopt;
  auto source = parse_inventory(*text, node.name);
  if (source) return *std::move(source);
  notes.push_back(
      fmt::format("annotation {} is ignored: {}", kInventoryAnnotation, source.error().message));
  return std::nullopt;
}

// What Stowage has published itself was computed from an inventory: it is no source of its own, and
// may be out of date.
NodeObject without_published(const NodeObject& node, const NodeAmounts& ours) {
  NodeObject others{.name = node.name, .labels = node.labels, .annotations = node.annotations};
  others.capacity = node.capacity;
  others.allocatable = node.allocatable.empty() ? node.capacity : node.allocatable;
  for (const auto& [name, amount] : ours) {
    others.capacity.erase(name);
    others.allocatable.erase(name);
  }
  return others;
}

template <typename Add>
void add_counted(const NodeObject& node, const Add& add, Notes& notes) {
  const NodeAmounts ours = recorded_amounts(node);
  const NodeObject others = ours.empty() ? NodeObject{} : without_published(node, ours);
  for (const Dialect& dialect : dialects()) {
    if (dialect.counted != nullptr) add(dialect.counted(ours.empty() ? node : others, notes));
  }
}

// The most trusted first.
std::vector<CardSource> card_sources(const NodeObject& node, Notes& notes) {
  std::vector<CardSource> sources;
  const auto add = [&](std::optional<CardSource> source) {
    if (source) sources.push_back(*std::move(source));
  };
  add(our_inventory(node, notes));
  for (const Dialect& dialect : dialects()) {
    if (dialect.annotated != nullptr) add(dialect.annotated(node, notes));
  }
  add_counted(node, add, notes);
  for (CardSource& source : sources) {
    if (source.cards.size() <= core::kMaxCardsPerNode) continue;
    notes.push_back(fmt::format("{} counts more than {} cards; the rest is not used", source.what,
                                core::kMaxCardsPerNode));
    source.cards.resize(core::kMaxCardsPerNode);
  }
  return sources;
}

// Adds data that only the less trusted source has; a note if the two contradict.
void merge(CardSource& base, const CardSource& other, Notes& notes) {
  if (base.cards.size() != other.cards.size()) {
    notes.push_back(fmt::format("{} says {} cards, {} says {}; the former counts", base.what,
                                base.cards.size(), other.what, other.cards.size()));
    return;
  }
  const std::int32_t unit = std::max(base.memory_unit_mib, other.memory_unit_mib);
  bool noted = false;
  for (std::size_t i = 0; i < base.cards.size(); ++i) {
    core::Card& card = base.cards[i];
    const auto same = std::find_if(other.cards.begin(), other.cards.end(),
                                   [&](const core::Card& c) { return c.id == card.id; });
    const core::Card& known = same == other.cards.end() ? other.cards[i] : *same;
    if (card.model.empty()) card.model = known.model;
    if (card.memory_mib == 0) card.memory_mib = known.memory_mib;
    const bool differs =
        known.memory_mib != 0 && std::abs(card.memory_mib - known.memory_mib) >= unit;
    if (differs && !noted) {
      notes.push_back(fmt::format("card {} has {} MiB by {}, {} MiB by {}; the former counts",
                                  card.index, card.memory_mib, base.what, known.memory_mib,
                                  other.what));
      noted = true;
    }
  }
}

Result<core::Resources> allocatable(const NodeObject& node) {
  core::Resources out;
  const auto& offers = node.allocatable.empty() ? node.capacity : node.allocatable;
  for (const auto& [resource, quantity] : offers) {
    if (means_cards(resource)) continue;
    const bool cpu = resource == "cpu";
    const auto amount = cpu ? quantity.milli() : quantity.units();
    if (!amount || quantity.negative()) {
      return fail(
          fmt::format("node {}: allocatable {} is {}", node.name, resource, quantity.text()));
    }
    if (cpu) {
      out.cpu_milli = *amount;
    } else if (resource == "memory") {
      out.memory_bytes = *amount;
    } else if (resource == "ephemeral-storage") {
      out.ephemeral_bytes = *amount;
    } else if (resource == "pods") {
      out.pods = *amount;
    } else if (*amount > 0) {
      out.extended[resource] = *amount;
    }
  }
  return out;
}

// The dialects whose pods get their devices on this node: those whose resources it offers, or whose
// agent has described the cards.
std::vector<std::string> offers_of(const NodeObject& node, Notes& notes) {
  const auto& resources = node.allocatable.empty() ? node.capacity : node.allocatable;
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects()) {
    if (dialect.offers != nullptr) {
      dialect.offers(node, names, notes);
      continue;
    }
    const bool offered = std::any_of(dialect.resources.begin(), dialect.resources.end(),
                                     [&](std::string_view resource) {
                                       const auto found = resources.find(std::string(resource));
                                       return found != resources.end() && !found->second.zero();
                                     });
    Notes ignored;
    const bool described = dialect.annotated != nullptr && dialect.annotated(node, ignored);
    if (offered || described) names.emplace_back(dialect.name);
  }
  return names;
}

}  // namespace

Result<NodeReading> to_spec(const NodeObject& node) {
  if (node.annotations.size() > kMaxAnnotations) {
    return fail(fmt::format("node {} has more than {} annotations", node.name, kMaxAnnotations));
  }
  NodeReading reading;
  core::NodeSpec& spec = reading.node;
  spec.name = node.name;
  STOWAGE_TRY_ASSIGN(spec.allocatable, allocatable(node));
  spec.schedulable = !node.unschedulable;
  spec.labels = node.labels;
  spec.taints = node.taints;
  spec.offers = offers_of(node, reading.notes);
  std::vector<CardSource> sources = card_sources(node, reading.notes);
  if (!sources.empty()) {
    CardSource& best = sources.front();
    for (std::size_t i = 1; i < sources.size(); ++i) merge(best, sources[i], reading.notes);
    spec.cards = std::move(best.cards);
    spec.links = std::move(best.links);
  }
  cordon(node, spec.cards, reading.notes);
  for (std::string& note : reading.notes) note = fmt::format("node {}: {}", node.name, note);
  reading.vgpu_memory_mib = vgpu_memory_unit(node);
  STOWAGE_TRY_VOID(core::validate(spec));
  return reading;
}

}  // namespace stowage::dialect
