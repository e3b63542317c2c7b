#include "dialect/annotations.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "dialect/absent_cards.h"
#include "dialect/amounts.h"
#include "dialect/decided_cards.h"
#include "dialect/json.h"
#include "dialect/json_fields.h"
#include "dialect/times.h"

namespace stowage::dialect {
namespace {

using base::JsonWriter;

constexpr std::int64_t kVersion = 1;

Status check_version(const Json& json) {
  if (json.kind != Json::Kind::object) return fail("expected a JSON object");
  const Json* version = json.find("version");
  if (version == nullptr) return fail("\"version\" is missing");
  const auto number = version->integer();
  if (!number) return fail("\"version\" is not a whole number");
  if (*number == kVersion) return {};
  // A newer writer states the oldest version that a reader must support; such a reader may ignore
  // unknown fields. So an older controller can continue after a downgrade.
  const Json* compatible = json.find("compatible");
  const auto least = compatible == nullptr ? std::nullopt : compatible->integer();
  if (*number > kVersion && least && *least >= 1 && *least <= kVersion) return {};
  return fail(fmt::format("version {} is not supported; write version {}", *number, kVersion));
}

Result<core::Card> parse_card(const Json& json) {
  if (json.kind != Json::Kind::object) return fail("expected an object");
  core::Card card;
  STOWAGE_TRY(id, string_field(json, "id"));
  if (id.empty()) return fail("\"id\" is missing or empty");
  card.id = std::move(id);
  STOWAGE_TRY_ASSIGN(card.model, string_field(json, "model"));
  STOWAGE_TRY_ASSIGN(card.index, bounded_field(json, "index", {.most = kMaxCardIndex}));
  STOWAGE_TRY_ASSIGN(
      card.memory_mib,
      bounded_field(json, "memoryMiB", {.most = core::kMaxCardMemoryMib, .absent = 0}));
  STOWAGE_TRY_ASSIGN(card.slots,
                     bounded_field(json, "slots", {.most = kMaxCardSlots, .absent = 0}));
  STOWAGE_TRY_ASSIGN(card.numa, bounded_field(json, "numa",
                                              {.least = core::kUnknownNuma,
                                               .most = kMaxNumaNode,
                                               .absent = core::kUnknownNuma}));
  STOWAGE_TRY_ASSIGN(card.healthy, flag_field(json, {.key = "healthy", .absent = true}));
  return card;
}

// [[index, index, score], ...]
Status parse_links(const Json& json, CardSource& source) {
  constexpr std::int64_t kMaxScore = 1'000'000;
  if (json.kind != Json::Kind::array) return fail("\"links\" is not an array");
  const std::size_t n = source.cards.size();
  source.links = {.cards = static_cast<std::int32_t>(n), .score = std::vector<std::int32_t>(n * n)};
  for (const Json& link : json.elements) {
    std::array<std::int64_t, 3> numbers{};
    bool good = link.kind == Json::Kind::array && link.elements.size() == numbers.size();
    for (std::size_t i = 0; good && i < numbers.size(); ++i) {
      const auto number = link.elements[i].integer();
      good = number.has_value();
      numbers[i] = number.value_or(0);
    }
    const auto a = good ? card_at_index(source.cards, numbers[0]) : std::nullopt;
    const auto b = good ? card_at_index(source.cards, numbers[1]) : std::nullopt;
    if (!a || !b || *a == *b || numbers[2] < 0 || numbers[2] > kMaxScore) {
      return fail("\"links\" has an entry that is not [index of a card, index of another, score]");
    }
    source.links.score[*a * n + *b] = static_cast<std::int32_t>(numbers[2]);
    source.links.score[*b * n + *a] = static_cast<std::int32_t>(numbers[2]);
  }
  return {};
}

// The card that an entry refers to. It is never found by its index, because pods are evicted by
// what this annotation says.
Result<std::size_t> find_card(const Json& entry, const core::NodeSpec& node) {
  STOWAGE_TRY(id, string_field(entry, "id"));
  if (id.empty()) return fail("a card has no \"id\"");
  if (const auto card = card_with_id(node, id)) return *card;
  STOWAGE_TRY(index, bounded_field(entry, "index", {.most = kMaxCardIndex}));
  return fail(fmt::format("node {} has no card {} (index {})", node.name, id.substr(0, 64), index));
}

struct Given {
  std::size_t card = 0;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
};

Result<Given> parse_given(const Json& entry, const core::NodeSpec& node) {
  if (entry.kind != Json::Kind::object) return fail("a card is not an object");
  STOWAGE_TRY(card, find_card(entry, node));
  STOWAGE_TRY(milli, bounded_field(entry, "milli", {.most = core::kMilliPerCard}));
  STOWAGE_TRY(memory, bounded_field(entry, "memoryMiB", {.most = core::kMaxCardMemoryMib}));
  return Given{.card = card, .milli = milli, .memory_mib = memory};
}

// The amounts in the annotation are for people and agents. They must equal the pod's own request,
// so that editing them frees no capacity. A share of compute alone may have been charged with or
// without memory, depending on the version and configuration of the scheduler and on whether the
// card's memory was known. The charge at that time counts.
Result<core::CardShare> charged_for(const core::GpuRequest& ask, const core::NodeSpec& node,
                                    const Given& given) {
  core::CardShare share = charge(ask, node, given.card);
  const std::int32_t size = node.cards[given.card].memory_mib;
  // If the amount depends on the card, the card may have reported another size then.
  bool by_card = ask.whole() || ask.memory_mib == core::kWholeMemory;
  if (ask.memory_mib == core::kMemoryWithCore) {
    by_card = size == 0 || given.memory_mib <= size;
    if (given.memory_mib == 0) share.memory_mib = 0;
  } else if (!ask.whole() && !ask.memory_mib) {
    const std::int32_t part = core::memory_with_core(share.milli, size);
    if (given.memory_mib == part) share.memory_mib = part;
  }
  if (given.milli == share.milli && (by_card || given.memory_mib == share.memory_mib)) return share;
  return fail(fmt::format("{} milli and {} MiB of a card are not what the container asks for",
                          given.milli, given.memory_mib));
}

Status parse_container(const Json& json, const core::ContainerSpec& container,
                       const core::NodeSpec& node, std::vector<core::CardShare>& shares) {
  if (json.kind != Json::Kind::array) return fail("expected an array of cards");
  std::set<std::size_t> seen;
  for (const Json& entry : json.elements) {
    STOWAGE_TRY(given, parse_given(entry, node));
    if (!seen.insert(given.card).second) {
      return fail(fmt::format("card {} appears twice", node.cards[given.card].id));
    }
    if (container.gpu.count == 0) {
      // It uses the cards of another container, which is charged for them.
      if (given.milli == 0 && given.memory_mib == 0) continue;
      return fail("the container does not ask for cards");
    }
    STOWAGE_TRY(charged, charged_for(container.gpu, node, given));
    shares.push_back(charged);
  }
  if (std::ssize(shares) != container.gpu.count) {
    return fail(
        fmt::format("{} cards, but the container asks for {}", shares.size(), container.gpu.count));
  }
  return {};
}

bool card_named(const std::vector<DecidedCard>& cards, std::string_view id) {
  return std::any_of(cards.begin(), cards.end(),
                     [&](const DecidedCard& card) { return card.id == id; });
}

void write_card(JsonWriter& json, const core::Card& card, const core::CardShare& share) {
  json.begin_object();
  json.key("id").value(card.id).key("index").value(card.index);
  json.key("milli").value(share.milli).key("memoryMiB").value(share.memory_mib);
  json.end_object();
}

}  // namespace

std::string gpus_text(const AnswerRequest& ask, const std::vector<std::size_t>& followers) {
  const auto& assigned = ask.cards.containers;
  const auto leader = std::find_if(assigned.begin(), assigned.end(),
                                   [](const auto& shares) { return !shares.empty(); });
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("version").value(kVersion).key("node").value(ask.node.name);
  // As text, because not every JSON reader keeps 19 digits.
  if (ask.unix_nanos > 0) json.key("decided").value(std::to_string(ask.unix_nanos));
  json.key("containers").begin_object();
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    const bool follows = std::find(followers.begin(), followers.end(), i) != followers.end();
    if (assigned[i].empty() && !follows) continue;
    json.key(ask.pod.containers[i].name).begin_array();
    for (const auto& share : follows ? *leader : assigned[i]) {
      write_card(json, ask.node.cards[share.card],
                 follows ? core::CardShare{.card = share.card} : share);
    }
    json.end_array();
  }
  json.end_object().end_object();
  return json.take();
}

Result<core::Assignment> parse_gpus(std::string_view text, const core::PodSpec& pod,
                                    const core::NodeSpec& node) {
  STOWAGE_TRY(json, parse_json(text));
  STOWAGE_TRY_VOID(check_version(json));
  STOWAGE_TRY(on, string_field(json, "node"));
  if (on != node.name) {
    return fail(
        fmt::format("it names node \"{}\", but the pod is on {}", on.substr(0, 64), node.name));
  }
  const Json* containers = json.find("containers");
  if (containers == nullptr || containers->kind != Json::Kind::object) {
    return fail("\"containers\" is missing or not an object");
  }
  core::Assignment cards;
  cards.containers.resize(pod.containers.size());
  std::size_t known = 0;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const core::ContainerSpec& container = pod.containers[i];
    const Json* list = containers->find(container.name);
    if (list == nullptr) {
      if (container.gpu.count == 0) continue;
      return fail(fmt::format("container \"{}\" is missing", container.name));
    }
    ++known;
    if (auto parsed = parse_container(*list, container, node, cards.containers[i]); !parsed) {
      return fail(fmt::format("container \"{}\": {}", container.name, parsed.error().message));
    }
  }
  if (known != containers->keys.size())
    return fail("it names a container that the pod does not have");
  return cards;
}

void add_absent_cards(const PodObject& object, core::NodeSpec& node) {
  const std::string* text = find(object.annotations, kGpusAnnotation);
  if (text == nullptr) return;
  const auto json = parse_json(*text);
  const Json* containers = json ? json->find("containers") : nullptr;
  if (containers == nullptr || containers->kind != Json::Kind::object) return;
  for (const Json& list : containers->elements) {
    if (list.kind != Json::Kind::array) continue;
    for (const Json& entry : list.elements) {
      if (entry.kind != Json::Kind::object || find_card(entry, node)) continue;
      const auto id = string_field(entry, "id");
      const auto index = bounded_field(entry, "index", {.most = kMaxCardIndex});
      const auto memory = bounded_field(entry, "memoryMiB", {.most = core::kMaxCardMemoryMib});
      if (!id || !index || !memory) continue;
      node.cards.push_back({.id = std::string(*id),
                            .index = static_cast<std::int32_t>(*index),
                            .memory_mib = *memory});
    }
  }
}

Result<DecidedCards> parse_decided_cards(std::string_view text) {
  STOWAGE_TRY(json, parse_json(text));
  STOWAGE_TRY_VOID(check_version(json));
  DecidedCards decided;
  STOWAGE_TRY_ASSIGN(decided.node, string_field(json, "node"));
  const Json* containers = json.find("containers");
  if (containers == nullptr || containers->kind != Json::Kind::object) {
    return fail("\"containers\" is missing or not an object");
  }
  for (std::size_t i = 0; i < containers->keys.size(); ++i) {
    const Json& list = containers->elements[i];
    if (list.kind != Json::Kind::array || list.elements.empty()) {
      return fail(fmt::format("container \"{}\": expected an array of cards",
                              containers->keys[i].substr(0, 64)));
    }
    std::vector<DecidedCard> cards;
    for (const Json& entry : list.elements) {
      if (entry.kind != Json::Kind::object) return fail("a card is not an object");
      STOWAGE_TRY(id, string_field(entry, "id"));
      if (id.empty()) return fail("a card has no \"id\"");
      STOWAGE_TRY(milli, bounded_field(entry, "milli", {.most = core::kMilliPerCard}));
      STOWAGE_TRY(memory, bounded_field(entry, "memoryMiB", {.most = core::kMaxCardMemoryMib}));
      if (card_named(cards, id))
        return fail(fmt::format("card {} appears twice", id.substr(0, 64)));
      cards.push_back({.id = std::move(id), .milli = milli, .memory_mib = memory});
    }
    if (!decided.containers.emplace(containers->keys[i], std::move(cards)).second) {
      return fail("a container appears twice");
    }
  }
  return decided;
}

std::optional<std::int64_t> decided_at(const PodObject& object) {
  const std::string* text = find(object.annotations, kGpusAnnotation);
  if (text == nullptr) return std::nullopt;
  const auto json = parse_json(*text);
  const Json* decided = json ? json->find("decided") : nullptr;
  if (decided == nullptr || decided->kind != Json::Kind::string) return std::nullopt;
  const auto at = parse_nanos(decided->text);
  return at && *at > 0 ? at : std::nullopt;
}

std::string inventory_text(const std::vector<core::Card>& cards, const core::LinkMatrix& links) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("version").value(kVersion);
  json.key("cards").begin_array();
  for (const auto& card : cards) {
    json.begin_object();
    json.key("id").value(card.id).key("index").value(card.index);
    if (!card.model.empty()) json.key("model").value(card.model);
    json.key("memoryMiB").value(card.memory_mib);
    if (card.slots != 0) json.key("slots").value(card.slots);
    if (!card.healthy) json.key("healthy").boolean(false);
    if (card.numa != core::kUnknownNuma) json.key("numa").value(card.numa);
    json.end_object();
  }
  json.end_array();
  if (links.known()) {
    json.key("links").begin_array();
    for (std::size_t a = 0; a < cards.size(); ++a) {
      for (std::size_t b = a + 1; b < cards.size(); ++b) {
        if (links.between(a, b) == core::link::kNone) continue;
        json.begin_array().value(cards[a].index).value(cards[b].index);
        json.value(links.between(a, b)).end_array();
      }
    }
    json.end_array();
  }
  json.end_object();
  return json.take();
}

Result<CardSource> parse_inventory(std::string_view text, const std::string& name) {
  STOWAGE_TRY(json, parse_json(text));
  STOWAGE_TRY_VOID(check_version(json));
  const Json* cards = json.find("cards");
  if (cards == nullptr || cards->kind != Json::Kind::array) {
    return fail("\"cards\" is missing or not an array");
  }
  if (cards->elements.size() > core::kMaxCardsPerNode) {
    return fail(fmt::format("node {} has {} cards; at most {} are supported", name,
                            cards->elements.size(), core::kMaxCardsPerNode));
  }
  CardSource source{.what = std::string(kInventoryAnnotation)};
  for (std::size_t i = 0; i < cards->elements.size(); ++i) {
    auto card = parse_card(cards->elements[i]);
    if (!card) return fail(fmt::format("cards[{}]: {}", i, card.error().message));
    source.cards.push_back(*std::move(card));
  }
  STOWAGE_TRY_VOID(check_distinct(source.cards));
  if (const Json* links = json.find("links")) STOWAGE_TRY_VOID(parse_links(*links, source));
  return source;
}

}  // namespace stowage::dialect
