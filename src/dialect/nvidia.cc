// Whole cards by nvidia.com/gpu, of the model that the annotation nvidia.com/gpu.model names.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kResources[] = {kGpu};
constexpr std::string_view kModel = "nvidia.com/gpu.model";
// Labels that the vendor's feature discovery puts on nodes.
constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";
constexpr std::string_view kMemoryLabel = "nvidia.com/gpu.memory";
constexpr std::string_view kReplicasLabel = "nvidia.com/gpu.replicas";

// A model is compared by its whole name. Labels can not hold blanks, so where the model of a card
// comes from a label it has dashes instead.
std::vector<std::string> model_spellings(const std::string& annotation) {
  std::vector<std::string> names;
  const auto first = annotation.find_first_not_of(" \t\n\r");
  if (first == std::string::npos) return names;
  names.push_back(annotation.substr(first, annotation.find_last_not_of(" \t\n\r") + 1 - first));
  std::string dashed = names.front();
  std::replace(dashed.begin(), dashed.end(), ' ', '-');
  if (dashed != names.front()) names.push_back(std::move(dashed));
  return names;
}

Status read_nvidia(const PodObject& pod, const ReadOptions& /*options*/, Reading& reading) {
  const std::string* model = find(pod.annotations, kModel);
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    STOWAGE_TRY(cards, whole_amount(pod, pod.containers[i], kGpu));
    if (cards == 0) continue;
    if (cards > static_cast<std::int64_t>(core::kMaxCardsPerNode)) {
      return fail(fmt::format("{} asks for {} cards; a node has at most {}",
                              owner(pod, pod.containers[i]), cards, core::kMaxCardsPerNode));
    }
    reading.asks[i].count = static_cast<std::int32_t>(cards);
    if (model != nullptr) reading.asks[i].filter.models_any = model_spellings(*model);
  }
  return {};
}

std::int64_t number_label(const NodeObject& node, std::string_view label, Notes& notes) {
  const std::string* text = find(node.labels, label);
  if (text == nullptr) return 0;
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end && number >= 0) return number;
  notes.push_back(fmt::format("label {} is \"{}\", not a number; it is ignored", label, *text));
  return 0;
}

std::optional<CardSource> counted_nvidia(const NodeObject& node, Notes& notes) {
  const std::int64_t cards = offered(node, kGpu, notes);
  if (cards == 0) return std::nullopt;
  if (const auto replicas = number_label(node, kReplicasLabel, notes); replicas > 1) {
    notes.push_back(fmt::format(
        "each card is offered {} times as {} (time slicing); every one is taken for a card",
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
  return {
      .name = "nvidia", .resources = kResources, .read = read_nvidia, .counted = counted_nvidia};
}

}  // namespace stowage::dialect
