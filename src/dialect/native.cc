// Our own dialect: stowage.dev/gpu counts cards; stowage.dev/gpu-core (percent) and
// stowage.dev/gpu-memory (MiB) request a share of each card, or of one card if no number is given.
// A share of compute alone takes the same fraction of the memory, unless ReadOptions say otherwise.
#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kGpu = "stowage.dev/gpu";
constexpr std::string_view kCore = "stowage.dev/gpu-core";
constexpr std::string_view kMemory = "stowage.dev/gpu-memory";
constexpr std::string_view kResources[] = {kGpu, kCore, kMemory};
// A container that asks for one card and a share of it counts as one request for a card.
constexpr CardAmount kPublishes[] = {{.resource = kGpu, .of = CardAmount::Of::requests},
                                     {.resource = kCore},
                                     {.resource = kMemory, .of = CardAmount::Of::memory}};

Result<core::GpuRequest> container_ask(const PodObject& pod, const ContainerObject& container,
                                       MemoryWithCore rule) {
  STOWAGE_TRY(cards, whole_amount(pod, container, kGpu));
  STOWAGE_TRY(percent, whole_amount(pod, container, kCore));
  STOWAGE_TRY(memory, card_memory_mib(pod, container, kMemory, 1));
  if (cards > static_cast<std::int64_t>(core::kMaxCardsPerNode)) {
    return fail(fmt::format("{} asks for {} cards; a node has at most {}", owner(pod, container),
                            cards, core::kMaxCardsPerNode));
  }
  if (percent > 100) {
    return fail(fmt::format("{}: {} is {}, but a card has 100 percent; ask for more cards with {}",
                            owner(pod, container), kCore, percent, kGpu));
  }
  if (cards == 0 && percent == 0 && memory == 0) return core::GpuRequest{};
  core::GpuRequest ask{.count = cards == 0 ? 1 : static_cast<std::int32_t>(cards)};
  if (percent > 0) ask.milli = static_cast<std::int32_t>(percent) * 10;
  if (memory > 0) {
    ask.memory_mib = static_cast<std::int32_t>(memory);
  } else if (percent > 0 && percent < 100 && rule == MemoryWithCore::proportional) {
    ask.memory_mib = core::kMemoryWithCore;
  }
  return ask;
}

Status read_native(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    STOWAGE_TRY_ASSIGN(reading.asks[i],
                       container_ask(pod, pod.containers[i], options.memory_with_core));
  }
  return {};
}

std::optional<CardSource> counted_native(const NodeObject& node, Notes& notes) {
  const std::int64_t cards = offered(node, kGpu, notes);
  if (cards == 0) {
    return percent_cards(node, {.core_name = kCore, .memory_name = kMemory}, notes);
  }
  const std::int64_t memory = offered(node, kMemory, notes) / cards;
  return CardSource{.what = std::string(kGpu),
                    .cards = equal_cards(node, {.count = cards, .memory_mib = memory})};
}

}  // namespace

Dialect native() {
  return {.name = "native",
          .resources = kResources,
          .publishes = kPublishes,
          .read = read_native,
          .counted = counted_native};
}

}  // namespace stowage::dialect
