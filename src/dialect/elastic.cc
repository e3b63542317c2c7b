// elasticgpu.io/gpu-core (percent, whole cards from 100) and elasticgpu.io/gpu-memory (MiB); one of
// its parts spells the domain elasticgpu.com. The answer is read by its agent, by container name.
#include "dialect/amounts.h"
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

constexpr std::string_view kAssumed = "elasticgpu.io/assumed";
constexpr std::string_view kContainerPrefix = "elasticgpu.io/container-";
constexpr std::size_t kMaxKeyName = 63;  // of an annotation, after the slash

std::string container_key(const std::string& container) {
  return std::string(kContainerPrefix) + container;
}

template <const Names& names>
Status read_elastic(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerObject& container = pod.containers[i];
    STOWAGE_TRY(percent, whole_amount(pod, container, names.core));
    STOWAGE_TRY(memory, card_memory_mib(pod, container, names.memory, 1));
    if (percent == 0 && memory == 0) continue;
    STOWAGE_TRY(ask, percent_ask(pod, container,
                                 {.core_name = names.core,
                                  .memory_name = names.memory,
                                  .percent = percent,
                                  .memory_mib = memory},
                                 options));
    reading.asks[i] = std::move(ask);
  }
  return {};
}

void write_elastic(const AnswerAsk& ask, Annotations& out) {
  out[std::string(kAssumed)] = "true";
  for (std::size_t i = 0; i < ask.pod.containers.size(); ++i) {
    const std::string key = container_key(ask.pod.containers[i].name);
    // The API server would refuse the whole binding for one key that is too long.
    if (ask.cards.containers[i].empty() || key.size() - key.find('/') - 1 > kMaxKeyName) continue;
    out[key] = index_list(ask.cards.containers[i], ask.node);
  }
}

Result<std::optional<core::Assignment>> read_elastic_answer(const PodObject& object,
                                                            const core::PodSpec& pod,
                                                            const core::NodeSpec& node) {
  if (find(object.annotations, kAssumed) == nullptr) return std::nullopt;
  core::Assignment cards;
  for (const auto& container : pod.containers) {
    auto& shares = cards.containers.emplace_back();
    if (container.gpu.count == 0) continue;
    const std::string* list = find(object.annotations, container_key(container.name));
    if (list == nullptr) return fail(container_key(container.name) + " is missing");
    STOWAGE_TRY(named, cards_by_index(*list, container, node));
    shares = std::move(named);
  }
  return cards;
}

template <const Names& names>
std::optional<CardSource> counted_elastic(const NodeObject& node, Notes& notes) {
  return percent_cards(node, {.core_name = names.core, .memory_name = names.memory}, notes);
}

}  // namespace

Dialect elastic() {
  return {.name = "elastic",
          .resources = kIoResources,
          .read = read_elastic<kIo>,
          .write = write_elastic,
          .read_answer = read_elastic_answer,
          .counted = counted_elastic<kIo>};
}

Dialect elastic_com() {
  return {.name = "elastic-com",
          .resources = kComResources,
          .read = read_elastic<kCom>,
          .write = write_elastic,
          .read_answer = read_elastic_answer,
          .counted = counted_elastic<kCom>};
}

}  // namespace stowage::dialect
