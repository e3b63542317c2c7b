// nano-gpu/gpu-percent: percent of a card, whole cards from 100; no memory requests. Its agent
// reads the answer by container name.
#include "dialect/amounts.h"
#include "dialect/named_cards.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kPercent = "nano-gpu/gpu-percent";
constexpr std::string_view kResources[] = {kPercent};
constexpr CardAmount kPublishes[] = {{.resource = kPercent}};
constexpr NamedCards kKeys{.assumed = "nano-gpu/assume", .container_prefix = "nano-gpu/container-"};
constexpr std::string_view kAnswers[] = {kKeys.container_prefix};
constexpr std::string_view kChosen[] = {kKeys.assumed, kKeys.container_prefix};

Status read_nano(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerObject& container = pod.containers[i];
    STOWAGE_TRY(percent, whole_amount(pod, container, kPercent));
    if (percent == 0) continue;
    STOWAGE_TRY_ASSIGN(
        reading.asks[i],
        percent_ask(pod, container, {.core_name = kPercent, .percent = percent}, options));
  }
  return {};
}

void write_nano(const AnswerRequest& ask, Answer& out) { write_named_cards(kKeys, ask, out); }

Result<std::optional<core::Assignment>> read_nano_answer(const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) {
  return read_named_cards(kKeys, object, pod, node);
}

std::optional<CardSource> counted_nano(const NodeObject& node, Notes& notes) {
  return percent_cards(node, {.core_name = kPercent}, notes);
}

}  // namespace

Dialect nano() {
  return {.name = "nano",
          .resources = kResources,
          .publishes = kPublishes,
          .read = read_nano,
          .write = write_nano,
          .read_answer = read_nano_answer,
          .answers = kAnswers,
          .answers_by_index = true,
          .chosen = kChosen,
          .counted = counted_nano};
}

}  // namespace stowage::dialect
