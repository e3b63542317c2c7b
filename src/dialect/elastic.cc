// elasticgpu.io/gpu-core (percent, whole cards from 100) and elasticgpu.io/gpu-memory (MiB); some
// of its components use the domain elasticgpu.com. Its agent reads the answer by container name.
#include "dialect/amounts.h"
#include "dialect/named_cards.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

struct Names {
  std::string_view core;
  std::string_view memory;
};
constexpr Names kIo{.core = "elasticgpu.io/gpu-core", .memory = "elasticgpu.io/gpu-memory"};
constexpr Names kCom{.core = "elasticgpu.com/gpu-core", .memory = "elasticgpu.com/gpu-memory"};
constexpr std::string_view kIoResources[] = {kIo.core, kIo.memory};
constexpr std::string_view kComResources[] = {kCom.core, kCom.memory};

template <const Names& names>
constexpr CardAmount kPublishes[] = {{.resource = names.core},
                                     {.resource = names.memory, .of = CardAmount::Of::memory}};

constexpr NamedCards kKeys{.assumed = "elasticgpu.io/assumed",
                           .container_prefix = "elasticgpu.io/container-"};
constexpr std::string_view kAnswers[] = {kKeys.container_prefix};
constexpr std::string_view kChosen[] = {kKeys.assumed, kKeys.container_prefix};

template <const Names& names>
Status read_elastic(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerObject& container = pod.containers[i];
    STOWAGE_TRY(percent, whole_amount(pod, container, names.core));
    STOWAGE_TRY(memory, card_memory_mib(pod, container, names.memory, 1));
    if (percent == 0 && memory == 0) continue;
    STOWAGE_TRY_ASSIGN(reading.asks[i], percent_ask(pod, container,
                                                    {.core_name = names.core,
                                                     .memory_name = names.memory,
                                                     .percent = percent,
                                                     .memory_mib = memory},
                                                    options));
  }
  return {};
}

void write_elastic(const AnswerRequest& ask, Answer& out) { write_named_cards(kKeys, ask, out); }

Result<std::optional<core::Assignment>> read_elastic_answer(const PodObject& object,
                                                            const core::PodSpec& pod,
                                                            const core::NodeSpec& node) {
  return read_named_cards(kKeys, object, pod, node);
}

template <const Names& names>
std::optional<CardSource> counted_elastic(const NodeObject& node, Notes& notes) {
  return percent_cards(node, {.core_name = names.core, .memory_name = names.memory}, notes);
}

}  // namespace

Dialect elastic() {
  return {.name = "elastic",
          .resources = kIoResources,
          .publishes = kPublishes<kIo>,
          .read = read_elastic<kIo>,
          .write = write_elastic,
          .read_answer = read_elastic_answer,
          .answers = kAnswers,
          .answers_by_index = true,
          .chosen = kChosen,
          .counted = counted_elastic<kIo>};
}

Dialect elastic_com() {
  return {.name = "elastic-com",
          .resources = kComResources,
          .publishes = kPublishes<kCom>,
          .read = read_elastic<kCom>,
          .write = write_elastic,
          .read_answer = read_elastic_answer,
          .answers = kAnswers,
          .answers_by_index = true,
          .chosen = kChosen,
          .counted = counted_elastic<kCom>};
}

}  // namespace stowage::dialect
