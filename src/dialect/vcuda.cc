// tencent.com/vcuda-core (percent, whole cards from 100) and tencent.com/vcuda-memory (units of 256
// MiB). The same under nvidia.com/, with memory in MiB and a choice of models. A share needs both.
// The agent on the node reads the answer: the card indexes by container position, and the time, by
// which it distinguishes waiting pods.

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/json.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

struct Names {
  std::string_view core;
  std::string_view memory;
  std::int32_t unit_mib;
  std::string_view domain;
};
constexpr Names kTencent{.core = "tencent.com/vcuda-core",
                         .memory = "tencent.com/vcuda-memory",
                         .unit_mib = 256,
                         .domain = "tencent.com/"};
constexpr Names kNvidia{.core = "nvidia.com/vcuda-core",
                        .memory = "nvidia.com/vcuda-memory",
                        .unit_mib = 1,
                        .domain = "nvidia.com/"};
constexpr std::string_view kTencentResources[] = {kTencent.core, kTencent.memory};
constexpr std::string_view kNvidiaResources[] = {kNvidia.core, kNvidia.memory};

template <const Names& names>
constexpr CardAmount kPublishes[] = {
    {.resource = names.core},
    {.resource = names.memory, .of = CardAmount::Of::memory, .unit_mib = names.unit_mib}};

constexpr std::string_view kTencentAnswers[] = {"tencent.com/predicate-gpu-idx-"};
constexpr std::string_view kNvidiaAnswers[] = {"nvidia.com/predicate-gpu-idx-"};

constexpr std::string_view kTencentChosen[] = {"tencent.com/predicate-"};
constexpr std::string_view kNvidiaChosen[] = {"nvidia.com/predicate-"};

constexpr std::string_view kUseType = "nvidia.com/use-gputype";
constexpr std::string_view kNotType = "nvidia.com/nouse-gputype";
constexpr std::string_view kRegister = "tydic.io/nvidia-device-register";
constexpr std::string_view kBindTime = "tydic.io/bind-time";
constexpr std::string_view kBindPhase = "tydic.io/bind-phase";

std::string key(const Names& names, std::string_view rest) {
  return std::string(names.domain) + std::string(rest);
}

Result<core::GpuRequest> container_ask(const PodObject& pod, const ContainerObject& container,
                                       const Names& names, const ReadOptions& options) {
  STOWAGE_TRY(percent, whole_amount(pod, container, names.core));
  STOWAGE_TRY(memory, card_memory_mib(pod, container, names.memory, names.unit_mib));
  if (percent == 0 && memory == 0) return core::GpuRequest{};
  if (percent == 0) {
    return fail(fmt::format("{} asks for {} but for no {}; write 1 to 99 for a share of a card",
                            owner(pod, container), names.memory, names.core));
  }
  if (percent < 100 && memory == 0) {
    return fail(fmt::format(
        "{} asks for {} of {} but for no {}; write how many times {} MiB it needs, or ask for 100, "
        "a whole card",
        owner(pod, container), percent, names.core, names.memory, names.unit_mib));
  }
  return percent_ask(pod, container,
                     {.core_name = names.core,
                      .memory_name = names.memory,
                      .percent = percent,
                      .memory_mib = memory},
                     options);
}

template <const Names& names>
Status read_vcuda(const PodObject& pod, const ReadOptions& options, Reading& reading) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    STOWAGE_TRY_ASSIGN(reading.asks[i], container_ask(pod, pod.containers[i], names, options));
  }
  return {};
}

Status wish_vcuda_nvidia(const PodObject& pod, Reading& reading) {
  const std::string* use = find(pod.annotations, kUseType);
  const std::string* avoid = find(pod.annotations, kNotType);
  for (core::GpuRequest& ask : reading.asks) {
    if (ask.count == 0) continue;
    ask.filter.model_match = core::CardFilter::Match::contains;
    if (use != nullptr) ask.filter.models_any = comma_list(*use);
    if (avoid != nullptr) ask.filter.models_none = comma_list(*avoid);
  }
  return {};
}

// The agent numbers the pod's containers without the init containers.
template <typename Each>
void each_app(const core::PodSpec& pod, Each each) {
  std::size_t app = 0;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    if (pod.containers[i].phase == core::Phase::app) each(i, app++);
  }
}

template <const Names& names>
void write_vcuda(const AnswerRequest& ask, Answer& answer) {
  Annotations& out = answer.annotations;
  each_app(ask.pod, [&](std::size_t container, std::size_t app) {
    const auto& shares = ask.cards.containers[container];
    if (shares.empty()) return;
    out[key(names, fmt::format("predicate-gpu-idx-{}", app))] = index_list(shares, ask.node);
  });
  out[key(names, "predicate-node")] = ask.node.name;
  out[key(names, "predicate-time")] = std::to_string(ask.unix_nanos);
  out[key(names, "gpu-assigned")] = "false";
}

void write_vcuda_nvidia(const AnswerRequest& ask, Answer& answer) {
  write_vcuda<kNvidia>(ask, answer);
  answer.labels[std::string(kBindTime)] = std::to_string(ask.unix_nanos);
  answer.labels[std::string(kBindPhase)] = "allocating";
}

template <const Names& names>
Result<std::optional<core::Assignment>> read_vcuda_answer(const PodObject& object,
                                                          const core::PodSpec& pod,
                                                          const core::NodeSpec& node) {
  const std::string* on = find(object.annotations, key(names, "predicate-node"));
  if (on == nullptr) return std::nullopt;
  if (*on != node.name) {
    return fail(fmt::format("{} is {}, but the pod is on {}", key(names, "predicate-node"),
                            on->substr(0, 64), node.name));
  }
  core::Assignment cards;
  cards.containers.resize(pod.containers.size());
  Status good;
  each_app(pod, [&](std::size_t i, std::size_t app) {
    const core::ContainerSpec& container = pod.containers[i];
    if (!good || container.gpu.count == 0) return;
    const std::string name = key(names, fmt::format("predicate-gpu-idx-{}", app));
    const std::string* list = find(object.annotations, name);
    auto shares = cards_by_index(list == nullptr ? "" : *list, container, node);
    if (shares) {
      cards.containers[i] = *std::move(shares);
    } else {
      good = fail(fmt::format("{}: {}", name, shares.error().message));
    }
  });
  if (!good) return tl::unexpected(good.error());
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    // The cards of an init container are not written.
    if (std::ssize(cards.containers[i]) != pod.containers[i].gpu.count) return std::nullopt;
  }
  return cards;
}

// One card of the register that the agent of the nvidia.com/ variant writes.
std::optional<core::Card> registered_card(const NodeObject& node, const Json& json) {
  const Json* id = json.find("id");
  const Json* memory = json.find("memory");
  const Json* type = json.find("type");
  const Json* health = json.find("health");
  const Json* mig = json.find("isMig");
  const auto index = id == nullptr ? std::nullopt : id->integer();
  const auto mib = memory == nullptr ? std::nullopt : memory->integer();
  if (!index || *index < 0 || *index > kMaxCardIndex) return std::nullopt;
  if (!mib || *mib < 0 || *mib > core::kMaxCardMemoryMib) return std::nullopt;
  core::Card card{.id = synthetic_id(node.name, *index),
                  .index = static_cast<std::int32_t>(*index),
                  .memory_mib = static_cast<std::int32_t>(*mib)};
  if (type != nullptr) card.model = type->text;
  // A MIG-enabled card cannot be shared by us.
  card.healthy = (health == nullptr || health->truth) && (mig == nullptr || !mig->truth);
  return card;
}

std::optional<CardSource> registered(const NodeObject& node, Notes& notes) {
  const std::string* text = find(node.annotations, kRegister);
  if (text == nullptr) return std::nullopt;
  const auto json = parse_json(*text);
  CardSource source{.what = std::string(kRegister)};
  bool good = json && json->kind == Json::Kind::array;
  if (good) {
    for (const Json& entry : json->elements) {
      auto card = registered_card(node, entry);
      good = good && card.has_value();
      if (card) source.cards.push_back(*std::move(card));
    }
  }
  if (good && check_distinct(source.cards)) return source;
  notes.push_back(fmt::format("annotation {} cannot be read; it is ignored", kRegister));
  return std::nullopt;
}

template <const Names& names>
std::optional<CardSource> counted_vcuda(const NodeObject& node, Notes& notes) {
  return percent_cards(
      node, {.core_name = names.core, .memory_name = names.memory, .unit_mib = names.unit_mib},
      notes);
}

}  // namespace

Dialect vcuda() {
  return {.name = "vcuda",
          .resources = kTencentResources,
          .publishes = kPublishes<kTencent>,
          .read = read_vcuda<kTencent>,
          .write = write_vcuda<kTencent>,
          .read_answer = read_vcuda_answer<kTencent>,
          .answers = kTencentAnswers,
          .answers_by_index = true,
          .chosen = kTencentChosen,
          .pre_allocations = kTencent.domain,
          .counted = counted_vcuda<kTencent>};
}

Dialect vcuda_nvidia() {
  return {.name = "vcuda-nvidia",
          .resources = kNvidiaResources,
          .publishes = kPublishes<kNvidia>,
          .read = read_vcuda<kNvidia>,
          .wish = wish_vcuda_nvidia,
          .write = write_vcuda_nvidia,
          .read_answer = read_vcuda_answer<kNvidia>,
          .answers = kNvidiaAnswers,
          .answers_by_index = true,
          .chosen = kNvidiaChosen,
          .pre_allocations = kNvidia.domain,
          .phase_label = kBindPhase,
          .annotated = registered,
          .counted = counted_vcuda<kNvidia>};
}

}  // namespace stowage::dialect
