// Whole cards by nvidia.com/gpu, of the model in an annotation. The device plugin picks any free
// card, so a node with unnamed cards in use is judged by number.

#include <fmt/format.h>

#include "base/number.h"
#include "dialect/amounts.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kResources[] = {kGpu};
constexpr std::string_view kModels[] = {"nvidia.com/gpu.model", "nvidia-gpu-scheduler/gpu.model"};
// Node labels of the vendor's feature discovery.
constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";
constexpr std::string_view kMemoryLabel = "nvidia.com/gpu.memory";
constexpr std::string_view kReplicasLabel = "nvidia.com/gpu.replicas";

// The model that the pod names, under either key; compared by its full name.
Result<std::vector<std::string>> wanted_model(const PodObject& pod) {
  std::string_view model;
  for (const std::string_view key : kModels) {
    const std::string* text = find(pod.annotations, key);
    const std::string_view name = text == nullptr ? std::string_view() : trimmed(*text);
    if (name.empty() || name == model) continue;
    if (!model.empty()) {
      return fail(fmt::format("pod {}/{}: annotations {} and {} name two models; keep one of them",
                              pod.ns, pod.name, kModels[0], kModels[1]));
    }
    model = name;
  }
  return model_spellings(model);
}

Status read_nvidia(const PodObject& pod, const ReadOptions& /*options*/, Reading& reading) {
  reading.naming = core::Naming::if_known;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    STOWAGE_TRY(cards, whole_amount(pod, pod.containers[i], kGpu));
    if (cards == 0) continue;
    if (cards > static_cast<std::int64_t>(core::kMaxCardsPerNode)) {
      return fail(fmt::format("{} asks for {} cards; a node has at most {}",
                              owner(pod, pod.containers[i]), cards, core::kMaxCardsPerNode));
    }
    reading.asks[i].count = static_cast<std::int32_t>(cards);
  }
  return {};
}

Status wish_nvidia(const PodObject& pod, Reading& reading) {
  STOWAGE_TRY(models, wanted_model(pod));
  for (core::GpuRequest& ask : reading.asks) {
    if (ask.count > 0) ask.filter.models_any = models;
  }
  return {};
}

std::int64_t number_label(const NodeObject& node, std::string_view label, Notes& notes) {
  const std::string* text = find(node.labels, label);
  if (text == nullptr) return 0;
  const auto number = base::parse_number<std::int64_t>(*text);
  if (number && *number >= 0) return *number;
  notes.push_back(fmt::format("label {} is \"{}\", not a number; it is ignored", label, *text));
  return 0;
}

std::optional<CardSource> counted_nvidia(const NodeObject& node, Notes& notes) {
  const std::int64_t cards = offered(node, kGpu, notes);
  if (cards == 0) return std::nullopt;
  if (const auto replicas = number_label(node, kReplicasLabel, notes); replicas > 1) {
    notes.push_back(fmt::format(
        "each card is offered {} times as {} (time slicing); each of these counts as a card",
        replicas, kGpu));
  }
  const std::string* product = find(node.labels, kProductLabel);
  return CardSource{
      .what = std::string(kGpu),
      .cards = equal_cards(node, {.count = cards,
                                  .memory_mib = number_label(node, kMemoryLabel, notes),
                                  .model = product == nullptr ? std::string() : *product})};
}

}  // namespace

Dialect nvidia() {
  return {.name = "nvidia",
          .resources = kResources,
          .read = read_nvidia,
          .wish = wish_nvidia,
          .counted = counted_nvidia};
}

}  // namespace stowage::dialect
