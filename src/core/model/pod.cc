#include "core/model/pod.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "core/model/limits.h"

namespace stowage::core {
namespace {

// A thousand times what any machine has, and small enough that sums over the pods of a node fit.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 50U;
constexpr std::int32_t kMaxLinkScore = 1000000;
constexpr std::size_t kShownOfId = 64;

enum class Listed : std::uint8_t { empty_list, yes, no };

Listed listed(const std::vector<std::string>& list, const std::string& value,
              CardFilter::Match match) {
  Listed result = Listed::empty_list;
  const std::string lower = base::ascii_lower(base::trim(value, base::kSpaces));
  for (const auto& entry : list) {
    const std::string wanted = base::ascii_lower(base::trim(entry, base::kSpaces));
    if (wanted.empty()) continue;
    const bool hit = match == CardFilter::Match::equal ? lower == wanted
                                                       : lower.find(wanted) != std::string::npos;
    if (hit) return Listed::yes;
    result = Listed::no;
  }
  return result;
}

// The object of an error message. The text is built only for an error, because every pod is
// validated and nearly all are valid.
struct Owner {
  const char* kind = "";
  const std::string* name = nullptr;
  const char* part = "";
  const std::string* container = nullptr;

  [[nodiscard]] std::string text() const {
    std::string words = kind;
    words += *name;
    words += part;
    if (container != nullptr) words += " container \"" + *container + "\"";
    return words;
  }
};

Status validate_amount(const Owner& owner, std::string_view what, std::int64_t amount) {
  if (amount >= 0 && amount <= kMaxAmount) return {};
  std::string message = owner.text() + ": ";
  message += what;
  message += amount < 0 ? " is negative: " : " is too large: ";
  return fail(message + std::to_string(amount));
}

Status validate_resources(const Owner& owner, const Resources& r) {
  STOWAGE_TRY_VOID(validate_amount(owner, "cpu", r.cpu_milli));
  STOWAGE_TRY_VOID(validate_amount(owner, "memory", r.memory_bytes));
  STOWAGE_TRY_VOID(validate_amount(owner, "ephemeral storage", r.ephemeral_bytes));
  STOWAGE_TRY_VOID(validate_amount(owner, "pods", r.pods));
  for (const auto& [name, amount] : r.extended) {
    STOWAGE_TRY_VOID(validate_amount(owner, name, amount));
  }
  return {};
}

Status validate_gpu(const Owner& owner, const GpuRequest& gpu) {
  if (gpu.count < 0) return fail(owner.text() + ": card count is negative");
  if (gpu.count > static_cast<std::int32_t>(kMaxCardsPerNode)) {
    return fail(owner.text() + " asks for " + std::to_string(gpu.count) +
                " cards; a node has at most " + std::to_string(kMaxCardsPerNode));
  }
  if (gpu.count == 0 && (gpu.milli || gpu.memory_mib)) {
    return fail(owner.text() + " asks for a share of a card but for no card");
  }
  if (gpu.milli && (*gpu.milli < 0 || *gpu.milli > kMilliPerCard)) {
    return fail(owner.text() + " asks for " + std::to_string(*gpu.milli) +
                " milli of a card; ask for 1 to 1000 milli, or for more cards");
  }
  if (gpu.memory_mib &&
      (*gpu.memory_mib < kMemoryWithCore || *gpu.memory_mib > kMaxCardMemoryMib)) {
    return fail(owner.text() + " asks for " + std::to_string(*gpu.memory_mib) +
                " MiB of card memory");
  }
  if (gpu.memory_mib == kMemoryWithCore && gpu.milli.value_or(0) == 0) {
    return fail(owner.text() + " asks for memory in proportion to its compute, but for no compute");
  }
  if (gpu.count > 0 && !gpu.whole() && gpu.milli.value_or(0) == 0 &&
      gpu.memory_mib.value_or(0) == 0) {
    return fail(owner.text() + " asks for nothing of a card: 0 milli and no memory");
  }
  const auto& f = gpu.filter;
  if (std::max({f.models_any.size(), f.models_none.size(), f.ids_any.size(), f.ids_none.size()}) >
      kMaxFilterEntries) {
    return fail(owner.text() + ": a list of models or card ids has more than 256 entries");
  }
  return {};
}

template <typename Cards>
bool names_any(const Cards& assignment) {
  return std::any_of(assignment.containers.begin(), assignment.containers.end(),
                     [](const auto& shares) { return !shares.empty(); });
}

std::string name_of(std::uint32_t position) { return std::to_string(position); }
std::string name_of(const std::string& id) { return id.substr(0, kShownOfId); }

template <typename Cards>
Status validate_cards(const PodSpec& pod, const std::optional<Cards>& cards) {
  if (!cards) return {};
  if (cards->containers.size() != pod.containers.size()) {
    return fail("pod " + pod.name + ": cards are named for " +
                std::to_string(cards->containers.size()) + " containers, but it has " +
                std::to_string(pod.containers.size()));
  }
  // Sums over the pod must fit into a ledger row.
  constexpr std::int64_t kMostMemoryMib = std::int64_t{kMaxCardMemoryMib} * kMaxContainers;
  constexpr std::int64_t kMostMilli =
      std::int64_t{kMilliPerCard} * kMaxCardsPerNode * kMaxContainers;
  std::int64_t memory_mib = 0;
  std::int64_t milli = 0;
  for (const auto& shares : cards->containers) {
    for (const auto& share : shares) {
      memory_mib += share.memory_mib;
      milli += share.milli;
      if (share.milli < 0 || share.memory_mib < 0 || memory_mib > kMostMemoryMib ||
          milli > kMostMilli) {
        return fail("pod " + pod.name + ": invalid share of card " + name_of(share.card));
      }
    }
  }
  return {};
}

}  // namespace

bool accepts_model(const CardFilter& filter, const std::string& model) {
  return listed(filter.models_any, model, filter.model_match) != Listed::no &&
         listed(filter.models_none, model, filter.model_match) != Listed::yes;
}

bool accepts_id(const CardFilter& filter, const std::string& id) {
  return listed(filter.ids_any, id, CardFilter::Match::equal) != Listed::no &&
         listed(filter.ids_none, id, CardFilter::Match::equal) != Listed::yes;
}

NamedAssignment by_id(const Assignment& cards, const NodeSpec& node) {
  NamedAssignment named;
  named.containers.reserve(cards.containers.size());
  for (const auto& shares : cards.containers) {
    auto& out = named.containers.emplace_back();
    out.reserve(shares.size());
    for (const CardShare& share : shares) {
      out.push_back({.card = node.cards[share.card].id,
                     .milli = share.milli,
                     .memory_mib = share.memory_mib});
    }
  }
  return named;
}

Positions find_positions(const NamedAssignment& cards, const NodeSpec& node) {
  Positions found;
  const auto position = [&](const std::string& id) {
    const auto card = std::find_if(node.cards.begin(), node.cards.end(),
                                   [&](const Card& other) { return other.id == id; });
    if (card != node.cards.end()) return card - node.cards.begin();
    const auto known = std::find(found.absent.begin(), found.absent.end(), id);
    const std::ptrdiff_t behind = known - found.absent.begin();
    if (known == found.absent.end()) found.absent.push_back(id);
    return std::ssize(node.cards) + behind;
  };
  for (const auto& shares : cards.containers) {
    auto& out = found.cards.containers.emplace_back();
    for (const NamedShare& share : shares) {
      out.push_back({.card = static_cast<std::uint32_t>(position(share.card)),
                     .milli = share.milli,
                     .memory_mib = share.memory_mib});
    }
  }
  return found;
}

std::optional<Assignment> by_position(const NamedAssignment& cards, const NodeSpec& node) {
  Positions found = find_positions(cards, node);
  if (!found.absent.empty()) return std::nullopt;
  return std::move(found.cards);
}

bool names_cards(const Assignment& assignment) { return names_any(assignment); }
bool names_cards(const NamedAssignment& assignment) { return names_any(assignment); }

bool asks_for_cards(const PodSpec& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerSpec& container) { return container.gpu.count > 0; });
}

std::string_view namespace_of(std::string_view pod_name) { return base::split_name(pod_name).ns; }

Status validate(const PodSpec& pod) {
  if (pod.uid.empty()) return fail("pod \"" + pod.name + "\" has no uid");
  if (pod.containers.size() > kMaxContainers) {
    return fail("pod " + pod.name + " has more than 256 containers");
  }
  STOWAGE_TRY_VOID(
      validate_resources({.kind = "pod ", .name = &pod.name, .part = " overhead"}, pod.overhead));
  for (const auto& container : pod.containers) {
    const Owner owner{.kind = "pod ", .name = &pod.name, .container = &container.name};
    STOWAGE_TRY_VOID(validate_resources(owner, container.resources));
    STOWAGE_TRY_VOID(validate_gpu(owner, container.gpu));
  }
  if (pod.containers.size() < 2 && !pod.pod_cpu_milli && !pod.pod_memory_bytes &&
      pod.pod_hugepages.empty()) {
    return {};
  }
  return validate_resources({.kind = "pod ", .name = &pod.name}, effective_resources(pod));
}

Status validate(const PodSpec& pod, const std::optional<Assignment>& cards) {
  return validate_cards(pod, cards);
}

Status validate(const PodSpec& pod, const std::optional<NamedAssignment>& cards) {
  return validate_cards(pod, cards);
}

Status validate(const NodeSpec& node) {
  const std::string owner = "node \"" + node.name + "\"";
  if (node.name.empty()) return fail("a node has no name");
  STOWAGE_TRY_VOID(validate_resources({.kind = "node ", .name = &node.name}, node.allocatable));
  if (node.allocatable.extended.size() > kMaxNodeResources) {
    return fail(owner + " offers more than 512 different resources");
  }
  if (node.taints.size() > kMaxTaints) return fail(owner + " has more than 256 taints");
  if (node.labels.size() > kMaxNodeLabels) return fail(owner + " has more than 1024 labels");
  if (node.cards.size() > kMaxCardsPerNode) {
    return fail(owner + " has " + std::to_string(node.cards.size()) +
                " cards; at most 64 are supported");
  }
  const auto cards = static_cast<std::int32_t>(node.cards.size());
  if (node.links.known() && (node.links.cards != cards ||
                             node.links.score.size() != node.cards.size() * node.cards.size())) {
    return fail(owner + ": the link matrix does not have one row and column per card");
  }
  for (std::size_t a = 0; node.links.known() && a < node.cards.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto score = node.links.between(a, b);
      if (score < 0 || score > kMaxLinkScore || score != node.links.between(b, a)) {
        return fail(owner + ": the link matrix is not symmetric, or has invalid entries");
      }
    }
  }
  std::set<std::string> ids;
  std::set<std::int32_t> indexes;
  for (const auto& card : node.cards) {
    if (card.id.empty() || !ids.insert(card.id).second) {
      return fail(owner + " has a card with an empty or repeated id \"" + card.id + "\"");
    }
    if (!indexes.insert(card.index).second) {
      return fail(owner + " has two cards with index " + std::to_string(card.index));
    }
    if (card.memory_mib < 0 || card.memory_mib > kMaxCardMemoryMib || card.slots < 0 ||
        card.slots > 10000) {
      return fail(owner + " card " + card.id + " has invalid memory or slots");
    }
  }
  return {};
}

Resources effective_resources(const PodSpec& pod) {
  Resources sidecars;
  Resources apps;
  Resources inits;  // the largest moment of the init phase
  for (const auto& container : pod.containers) {
    switch (container.phase) {
      case Phase::app: apps.add(container.resources); break;
      case Phase::sidecar:
        sidecars.add(container.resources);
        inits.raise_to(sidecars);
        break;
      case Phase::init: {
        Resources moment = sidecars;
        moment.add(container.resources);
        inits.raise_to(moment);
        break;
      }
    }
  }
  sidecars.add(apps);
  Resources total = std::move(inits);
  total.raise_to(sidecars);
  // Pod-level requests replace the sums over the containers.
  total.cpu_milli = pod.pod_cpu_milli.value_or(total.cpu_milli);
  total.memory_bytes = pod.pod_memory_bytes.value_or(total.memory_bytes);
  for (const auto& [name, amount] : pod.pod_hugepages) total.extended[name] = amount;
  total.add(pod.overhead);
  total.pods = 1;
  return total;
}

}  // namespace stowage::core
