// nvidia.com/vgpu-number (cards), and per card nvidia.com/vgpu-cores (percent) and
// nvidia.com/vgpu-memory (in units that each node defines). Cards alone are whole cards, percent
// alone includes all memory, memory alone leaves compute unlimited. The agent on the node reads the
// answer and then writes its actual allocation.
#include <algorithm>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/claims.h"
#include "dialect/vgpu_node.h"
#include "dialect/wishes.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kCores = "nvidia.com/vgpu-cores";
constexpr std::string_view kMemory = "nvidia.com/vgpu-memory";
constexpr std::string_view kResources[] = {kVgpuNumber, kCores, kMemory};
constexpr std::int64_t kMostCards = 16;  // per container; a limit of the agent

constexpr std::string_view kDomain = "nvidia.com/";
constexpr std::string_view kNodePolicy = "nvidia.com/node-scheduler-policy";
constexpr std::string_view kCardPolicy = "nvidia.com/device-scheduler-policy";
constexpr std::string_view kMemoryPolicy = "nvidia.com/memory-scheduler-policy";
constexpr std::string_view kTopology = "nvidia.com/device-topology-mode";
constexpr std::string_view kUseType = "nvidia.com/include-gpu-type";
constexpr std::string_view kNotType = "nvidia.com/exclude-gpu-type";
constexpr std::string_view kUseId = "nvidia.com/include-gpu-uuid";
constexpr std::string_view kNotId = "nvidia.com/exclude-gpu-uuid";

constexpr std::string_view kPredicateNode = "nvidia.com/predicate-node";
constexpr std::string_view kPredicateTime = "nvidia.com/predicate-time";
constexpr std::string_view kPreAllocated = "nvidia.com/pre-allocated";
constexpr std::string_view kRealAllocated = "nvidia.com/real-allocated";
constexpr std::string_view kChosen[] = {"nvidia.com/predicate-", kPreAllocated};
constexpr std::string_view kPhaseLabel = "nvidia.com/assigned-phase";
constexpr std::string_view kNodeLabel = "nvidia.com/metrics-node";
constexpr std::size_t kMaxLabelValue = 63;

Result<core::GpuRequest> container_ask(const PodObject& pod, const ContainerObject& container,
                                       std::int32_t unit_mib) {
  STOWAGE_TRY(number, whole_amount(pod, container, kVgpuNumber));
  STOWAGE_TRY(percent, whole_amount(pod, container, kCores));
  // The messages are those of the agent's own scheduler, which users and tests expect.
  if (number > kMostCards) {
    return fail(fmt::format("container {} requests vGPU number exceeding limit", container.name));
  }
  if (percent > 100) {
    return fail(fmt::format("container {} requests vGPU core exceeding limit", container.name));
  }
  STOWAGE_TRY(memory, card_memory_mib(pod, container, kMemory, unit_mib));
  if (number == 0 && (percent > 0 || memory > 0)) {
    return fail(fmt::format("{} asks for {} but for no {}; write the number of cards",
                            owner(pod, container), percent > 0 ? kCores : kMemory, kVgpuNumber));
  }
  core::GpuRequest ask{.count = static_cast<std::int32_t>(number)};
  if (percent > 0) ask.milli = static_cast<std::int32_t>(percent) * 10;
  if (memory > 0) {
    ask.memory_mib = static_cast<std::int32_t>(memory);
  } else if (percent > 0 && percent < 100) {
    ask.memory_mib = core::kWholeMemory;
  }
  return ask;
}

Status read_vgpu(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  const std::int32_t unit_mib = std::max(options.vgpu_memory_mib, 1);
  bool units = false;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    STOWAGE_TRY(ask, container_ask(pod, pod.containers[i], unit_mib));
    units = units || ask.memory_mib.value_or(0) > 0;
    reading.asks[i] = std::move(ask);
  }
  reading.needs = vgpu_needs({.memory_mib = units ? unit_mib : 0});
  return {};
}

// The value of an annotation in lower case; empty if missing.
std::string word(const PodObject& pod, std::string_view key) {
  const std::string* text = find(pod.annotations, key);
  std::string small(text == nullptr ? std::string_view() : trimmed(*text));
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// none, binpack or spread, for the node or for the card.
template <typename Policy>
Status read_policy(const PodObject& pod, std::string_view key, std::optional<Policy>& policy) {
  const std::string text = word(pod, key);
  if (text.empty()) return {};
  if (text == "none") {
    policy = Policy::first;
  } else if (text == "binpack") {
    policy = Policy::binpack;
  } else if (text == "spread") {
    policy = Policy::spread;
  } else {
    return bad_annotation(pod, key, text, "write none, binpack or spread");
  }
  return {};
}

Status wish_vgpu(const PodObject& pod, Reading& reading) {
  STOWAGE_TRY_VOID(read_policy(pod, kNodePolicy, reading.wish.node));
  STOWAGE_TRY_VOID(read_policy(pod, kCardPolicy, reading.wish.card));
  reading.wish.weighted = reading.wish.any();
  const std::string type = word(pod, kMemoryPolicy);
  if (type == "virtual" || type == "physical") {
    reading.needs += '/' + type;
  } else if (!type.empty() && type != "none") {
    return bad_annotation(pod, kMemoryPolicy, type, "write virtual, physical or none");
  }
  auto topology = core::Topology::none;
  if (const std::string text = word(pod, kTopology); !text.empty()) {
    STOWAGE_TRY_ASSIGN(topology, parse_topology(pod, kTopology, text));
  }
  const auto list = [&](std::string_view key) {
    const std::string* text = find(pod.annotations, key);
    return text == nullptr ? std::vector<std::string>() : comma_list(*text);
  };
  const core::CardFilter filter{.model_match = core::CardFilter::Match::contains,
                                .models_any = list(kUseType),
                                .models_none = list(kNotType),
                                .ids_any = list(kUseId),
                                .ids_none = list(kNotId)};
  for (core::GpuRequest& ask : reading.asks) {
    if (ask.count == 0) continue;
    ask.topology = topology;
    ask.filter = filter;
  }
  return {};
}

void write_vgpu(const AnswerRequest& ask, Answer& out) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < ask.pod.containers.size(); ++i) {
    const core::ContainerSpec& container = ask.pod.containers[i];
    const auto& shares = ask.cards.containers[i];
    if (shares.empty()) continue;
    Claim& claim = claims.emplace_back(Claim{.container = container.name});
    const std::int32_t limit = container.gpu.memory_mib.value_or(0);
    for (const core::CardShare& share : shares) {
      const core::Card& card = ask.node.cards[share.card];
      claim.cards.push_back({.index = card.index,
                             .id = card.id,
                             .percent = share.milli / 10,
                             // All compute of a card with some memory: the container has the card
                             // exclusively, but its memory is limited to its request.
                             .memory_mib = limit > 0 ? limit : share.memory_mib});
    }
  }
  out.annotations[std::string(kPreAllocated)] = claims_text(claims);
  out.annotations[std::string(kPredicateNode)] = ask.node.name;
  out.annotations[std::string(kPredicateTime)] = std::to_string(ask.unix_nanos);
  out.labels[std::string(kPhaseLabel)] = "allocating";
  // A longer name is no valid label, and the API server would reject the other labels with it.
  if (ask.node.name.size() <= kMaxLabelValue) out.labels[std::string(kNodeLabel)] = ask.node.name;
}

// The agent's allocation; for containers without one, the scheduler's choice.
Result<std::vector<Claim>> all_claims(const PodObject& object) {
  std::vector<Claim> claims;
  for (const std::string_view key : {kRealAllocated, kPreAllocated}) {
    const std::string* text = find(object.annotations, key);
    if (text == nullptr) continue;
    auto parsed = parse_claims(*text);
    if (!parsed) return fail(fmt::format("{}: {}", key, parsed.error().message));
    for (Claim& claim : *parsed) {
      const bool given = std::any_of(claims.begin(), claims.end(), [&](const Claim& other) {
        return other.container == claim.container;
      });
      if (!given) claims.push_back(std::move(claim));
    }
  }
  return claims;
}

// Once the agent has allocated cards to every container, the scheduler's choice no longer counts.
AnswerText vgpu_answer_text(const PodObject& object) {
  const std::string* given = find(object.annotations, kRealAllocated);
  const std::string* chosen = find(object.annotations, kPreAllocated);
  AnswerText out;
  if (given != nullptr) out.text = fmt::format("{} is \"{}\"; ", kRealAllocated, *given);
  const auto real = parse_claims(given == nullptr ? std::string_view() : *given);
  const auto pre = parse_claims(chosen == nullptr ? std::string_view() : *chosen);
  out.settled = given != nullptr && real && pre &&
                std::all_of(pre->begin(), pre->end(), [&](const Claim& claim) {
                  return std::any_of(real->begin(), real->end(), [&](const Claim& other) {
                    return other.container == claim.container;
                  });
                });
  if (out.settled || chosen == nullptr) return out;
  out.text += fmt::format("{} is \"{}\"; ", kPreAllocated, *chosen);
  return out;
}

// The share of a claim. The agent counts memory in the unit of its own node, so it may be more than
// the pod's request, but never less.
Result<core::CardShare> annotated_share(const AnnotatedCard& claimed, const core::GpuRequest& ask,
                                        const core::NodeSpec& node) {
  const auto card = card_with_id(node, claimed.id);
  if (!card) {
    return fail(fmt::format("node {} has no card {} (index {})", node.name,
                            claimed.id.substr(0, 64), claimed.index));
  }
  core::CardShare share = charge(ask, node, *card);
  const bool all_memory = ask.whole() || ask.memory_mib == core::kWholeMemory;
  const bool enough = all_memory || claimed.memory_mib >= share.memory_mib;
  const std::int32_t has = node.cards[*card].memory_mib;
  if (has > 0 && claimed.memory_mib > has) {
    return fail(fmt::format("{} MiB are more than the {} MiB that card {} has", claimed.memory_mib,
                            has, claimed.index));
  }
  if (claimed.percent * 10 != share.milli || !enough) {
    return fail(fmt::format("{} percent and {} MiB of card {} are not what the container asks for",
                            claimed.percent, claimed.memory_mib, claimed.index));
  }
  if (!all_memory) share.memory_mib = claimed.memory_mib;
  return share;
}

Status add_claim(const Claim& claim, const core::PodSpec& pod, const core::NodeSpec& node,
                 core::Assignment& cards) {
  const auto at = std::find_if(pod.containers.begin(), pod.containers.end(),
                               [&](const auto& c) { return c.name == claim.container; });
  if (at == pod.containers.end()) return fail("the pod has no such container");
  auto& shares = cards.containers[static_cast<std::size_t>(at - pod.containers.begin())];
  for (const AnnotatedCard& claimed : claim.cards) {
    STOWAGE_TRY(share, annotated_share(claimed, at->gpu, node));
    const bool twice = std::any_of(shares.begin(), shares.end(),
                                   [&](const auto& other) { return other.card == share.card; });
    if (twice) return fail(fmt::format("card {} appears twice", claimed.index));
    shares.push_back(share);
  }
  return {};
}

Result<std::optional<core::Assignment>> read_vgpu_answer(const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) {
  STOWAGE_TRY(claims, all_claims(object));
  if (claims.empty()) return std::nullopt;
  const std::string* on = find(object.annotations, kPredicateNode);
  if (on != nullptr && *on != node.name) {
    return fail(fmt::format("{} is {}, but the pod is on {}", kPredicateNode, on->substr(0, 64),
                            node.name));
  }
  core::Assignment cards;
  cards.containers.resize(pod.containers.size());
  for (const Claim& claim : claims) {
    if (const auto added = add_claim(claim, pod, node, cards); !added) {
      return fail(fmt::format("container \"{}\": {}", claim.container.substr(0, 64),
                              added.error().message));
    }
  }
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const core::ContainerSpec& container = pod.containers[i];
    if (std::ssize(cards.containers[i]) == container.gpu.count) continue;
    return fail(fmt::format("container \"{}\" asks for {} cards but is given {}", container.name,
                            container.gpu.count, cards.containers[i].size()));
  }
  return cards;
}

}  // namespace

Dialect vgpu() {
  return {.name = "vgpu",
          .resources = kResources,
          .read = read_vgpu,
          .wish = wish_vgpu,
          .write = write_vgpu,
          .read_answer = read_vgpu_answer,
          .answer_text = vgpu_answer_text,
          .chosen = kChosen,
          .pre_allocations = kDomain,
          .phase_label = kPhaseLabel,
          .annotated = vgpu_cards,
          .offers = vgpu_offers};
}

}  // namespace stowage::dialect
