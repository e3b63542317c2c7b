#include "dialect/vgpu_node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number.h"
#include "dialect/amounts.h"
#include "dialect/json.h"
#include "dialect/json_fields.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kRegister = "nvidia.com/node-device-register";
constexpr std::string_view kConfig = "nvidia.com/node-config-info";
constexpr std::string_view kTopology = "nvidia.com/node-device-topology";

// Kinds of links: between processors and switches, then one to eighteen NVLinks.
constexpr std::int32_t kLinkKinds[] = {core::link::kNone,        core::link::kCrossCpu,
                                       core::link::kSameCpu,     core::link::kHostBridge,
                                       core::link::kMultiSwitch, core::link::kSingleSwitch,
                                       core::link::kSameBoard};
constexpr std::int64_t kLastKind = 24;
constexpr std::int32_t kMostLinks = 1'000'000;

// A MIG-enabled card, or one without slots, is not used.
Result<core::Card> registered_card(const Json& json) {
  if (json.kind != Json::Kind::object) return fail("an entry is not an object");
  core::Card card;
  STOWAGE_TRY_ASSIGN(card.index, bounded_field(json, "id", {.most = kMaxCardIndex}));
  STOWAGE_TRY(uuid, string_field(json, "uuid"));
  if (uuid.empty()) return fail("\"uuid\" is missing or empty");
  card.id = std::move(uuid);
  STOWAGE_TRY_ASSIGN(card.model, string_field(json, "type"));
  STOWAGE_TRY_ASSIGN(card.memory_mib,
                     bounded_field(json, "memory", {.most = core::kMaxCardMemoryMib}));
  STOWAGE_TRY(slots, bounded_field(json, "number", {.most = kMaxCardSlots}));
  card.slots = slots;
  STOWAGE_TRY_ASSIGN(card.numa, bounded_field(json, "numa",
                                              {.least = core::kUnknownNuma,
                                               .most = kMaxNumaNode,
                                               .absent = core::kUnknownNuma}));
  STOWAGE_TRY(healthy, flag_field(json, {.key = "healthy", .absent = true}));
  STOWAGE_TRY(mig, flag_field(json, {.key = "mig"}));
  card.healthy = healthy && !mig && slots > 0;
  return card;
}

Result<std::vector<core::Card>> parse_register(std::string_view text) {
  STOWAGE_TRY(json, parse_json(text));
  if (json.kind != Json::Kind::array) return fail("expected a JSON array");
  if (json.elements.size() > core::kMaxCardsPerNode) {
    return fail(fmt::format("it has {} cards; at most {} are supported", json.elements.size(),
                            core::kMaxCardsPerNode));
  }
  std::vector<core::Card> cards;
  for (const Json& entry : json.elements) {
    STOWAGE_TRY(card, registered_card(entry));
    cards.push_back(std::move(card));
  }
  STOWAGE_TRY_VOID(check_distinct(cards));
  return cards;
}

// [7, 7]: all links between two cards.
std::optional<std::int32_t> link_sum(const Json& json) {
  if (json.kind != Json::Kind::array) return std::nullopt;
  std::int32_t sum = 0;
  for (const Json& entry : json.elements) {
    const auto kind = entry.integer();
    if (!kind || *kind < 0 || *kind > kLastKind) return std::nullopt;
    const auto number = static_cast<std::size_t>(*kind);
    const auto nvlinks = static_cast<std::int32_t>(number + 1 - std::size(kLinkKinds));
    sum += number < std::size(kLinkKinds) ? kLinkKinds[number] : nvlinks * core::link::kNvlink;
    if (sum > kMostLinks) return std::nullopt;
  }
  return sum;
}

std::optional<std::size_t> card_keyed(const std::vector<core::Card>& cards,
                                      const std::string& key) {
  const auto index = base::parse_number<std::int32_t>(key);
  return index ? card_at_index(cards, *index) : std::nullopt;
}

// [{"index":0,"links":{"1":[7]}}]. Unset if invalid.
std::optional<core::LinkMatrix> parse_topology(std::string_view text,
                                               const std::vector<core::Card>& cards) {
  const auto json = parse_json(text);
  if (!json || json->kind != Json::Kind::array) return std::nullopt;
  const std::size_t n = cards.size();
  core::LinkMatrix links{.cards = static_cast<std::int32_t>(n),
                         .score = std::vector<std::int32_t>(n * n)};
  for (const Json& entry : json->elements) {
    const Json* index = entry.find("index");
    const Json* to = entry.find("links");
    const auto number = index == nullptr ? std::nullopt : index->integer();
    const auto a = number ? card_at_index(cards, *number) : std::nullopt;
    if (!a) return std::nullopt;
    if (to == nullptr) continue;
    if (to->kind != Json::Kind::object) return std::nullopt;
    for (std::size_t i = 0; i < to->keys.size(); ++i) {
      const auto b = card_keyed(cards, to->keys[i]);
      const auto sum = link_sum(to->elements[i]);
      if (!b || !sum || *a == *b) return std::nullopt;
      // Both ends report the link; if they differ, the larger value counts.
      auto& score = links.score[*a * n + *b];
      score = std::max(score, *sum);
      links.score[*b * n + *a] = std::max(links.score[*b * n + *a], score);
    }
  }
  return links;
}

struct Config {
  std::int32_t memory_mib = 0;  // per unit
  bool virtual_memory = false;  // memory is oversubscribed
};

Result<Config> parse_config(std::string_view text) {
  STOWAGE_TRY(json, parse_json(text));
  if (json.kind != Json::Kind::object) return fail("expected a JSON object");
  Config config;
  STOWAGE_TRY_ASSIGN(
      config.memory_mib,
      bounded_field(json, "memoryFactor", {.least = 1, .most = core::kMaxCardMemoryMib}));
  const Json* scaling = json.find("memoryScaling");
  if (scaling == nullptr) return config;
  const auto number = base::parse_number<double>(scaling->text);
  if (scaling->kind != Json::Kind::number || !number) {
    return fail("\"memoryScaling\" is not a number");
  }
  config.virtual_memory = *number > 1;
  return config;
}

}  // namespace

std::string vgpu_needs(const VgpuNeeds& needs) {
  std::string name = "vgpu";
  if (needs.memory_mib > 0) name += fmt::format("/{}MiB", needs.memory_mib);
  if (!needs.memory_type.empty()) name += fmt::format("/{}", needs.memory_type);
  return name;
}

std::int32_t vgpu_memory_unit(const NodeObject& node) {
  const std::string* text = find(node.annotations, kConfig);
  if (text == nullptr) return 0;
  const auto config = parse_config(*text);
  return config ? config->memory_mib : 0;
}

std::optional<CardSource> vgpu_cards(const NodeObject& node, Notes& notes) {
  const std::string* text = find(node.annotations, kRegister);
  if (text == nullptr) return std::nullopt;
  auto cards = parse_register(*text);
  if (!cards) {
    notes.push_back(fmt::format("annotation {} is ignored: {}", kRegister, cards.error().message));
    return std::nullopt;
  }
  CardSource source{.what = std::string(kRegister), .cards = *std::move(cards)};
  if (const std::string* topology = find(node.annotations, kTopology)) {
    auto links = parse_topology(*topology, source.cards);
    if (!links) {
      notes.push_back(fmt::format(
          "annotation {} cannot be read; the links between cards are unknown", kTopology));
    } else {
      source.links = *std::move(links);
    }
  }
  return source;
}

void vgpu_offers(const NodeObject& node, std::vector<std::string>& names, Notes& notes) {
  Notes ignored;  // an invalid number is already visible as missing cards
  if (offered(node, kVgpuNumber, ignored) == 0) return;
  const auto unserved = [&](std::string_view key, std::string_view what) {
    notes.push_back(fmt::format("annotation {} {}; no pod that asks for {} is placed here", key,
                                what, kVgpuNumber));
  };
  const std::string* config_text = find(node.annotations, kConfig);
  if (config_text == nullptr || config_text->empty()) return unserved(kConfig, "is missing");
  const auto config = parse_config(*config_text);
  if (!config) {
    return unserved(kConfig, fmt::format("cannot be read ({})", config.error().message));
  }
  const std::string* register_text = find(node.annotations, kRegister);
  if (register_text == nullptr) return unserved(kRegister, "is missing");
  if (!parse_register(*register_text)) return unserved(kRegister, "cannot be read");
  const std::string_view type = config->virtual_memory ? "virtual" : "physical";
  for (const std::int32_t unit : {0, config->memory_mib}) {
    for (const std::string_view memory : {std::string_view(), type}) {
      names.push_back(vgpu_needs({.memory_mib = unit, .memory_type = memory}));
    }
  }
}

}  // namespace stowage::dialect
