// alnair/vgpu-memory (GiB) and alnair/vgpu-compute (percent). The requests of all containers are
// added up and must fit one card, which all containers use. One container requests the sum; the
// others follow it. The agent on the node picks the card and writes it to the pod.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kMemory = "alnair/vgpu-memory";
constexpr std::string_view kCompute = "alnair/vgpu-compute";
constexpr std::string_view kResources[] = {kMemory, kCompute};
constexpr std::int32_t kChunkMib = 1024;
constexpr CardAmount kPublishes[] = {
    {.resource = kMemory, .of = CardAmount::Of::memory, .unit_mib = kChunkMib},
    {.resource = kCompute}};

constexpr std::string_view kUuids = "ai.centaurus.io/physical-gpu-uuids";
constexpr std::string_view kCount = "ai.centaurus.io/physical-gpu-count";
// The agent writes the first key; its readers look for the second.
constexpr std::string_view kChunks[] = {"ai.centaurus.io/vitual-gpu-count",
                                        "ai.centaurus.io/virtual-gpu-count"};
constexpr std::string_view kTimestamp = "ai.centaurus.io/scheduler-timestamp";
constexpr std::string_view kGpuId = "ai.centaurus.io/alnair-gpu-id";
constexpr std::string_view kAnswers[] = {kGpuId};

struct Need {
  std::int64_t memory_mib = 0;
  std::int64_t percent = 0;

  [[nodiscard]] bool any() const { return memory_mib > 0 || percent > 0; }
  void add(const Need& other) {
    memory_mib += other.memory_mib;
    percent += other.percent;
  }
  void raise_to(const Need& other) {
    memory_mib = std::max(memory_mib, other.memory_mib);
    percent = std::max(percent, other.percent);
  }
};

// The pod's peak use, computed as for any other resource.
struct Sum {
  Need sidecars, apps, inits;

  void add(const ContainerObject& container, const Need& need) {
    if (!container.init) {
      apps.add(need);
    } else if (container.sidecar) {
      sidecars.add(need);
    } else {
      Need moment = sidecars;
      moment.add(need);
      inits.raise_to(moment);
    }
  }
  [[nodiscard]] Need largest() const {
    Need all = sidecars;
    all.add(apps);
    all.raise_to(inits);
    return all;
  }
};

Status read_alnair(const PodObject& pod, const ReadOptions& /*options*/, Reading& reading) {
  Sum sum;
  std::vector<std::size_t> users;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerObject& container = pod.containers[i];
    STOWAGE_TRY(memory, card_memory_mib(pod, container, kMemory, kChunkMib));
    STOWAGE_TRY(percent, whole_amount(pod, container, kCompute));
    if (percent > 100) {
      return fail(
          fmt::format("{}: {} is {}; a card has 100", owner(pod, container), kCompute, percent));
    }
    const Need need{.memory_mib = memory, .percent = percent};
    sum.add(container, need);
    if (need.any()) users.push_back(i);
  }
  if (users.empty()) return {};
  const Need all = sum.largest();
  const std::string who = fmt::format("pod {}/{}", pod.ns, pod.name);
  if (all.memory_mib == 0) {
    return fail(fmt::format("{} asks for {} but for no {}; write how many GiB it needs", who,
                            kCompute, kMemory));
  }
  if (all.percent > 100 || all.memory_mib > core::kMaxCardMemoryMib) {
    return fail(fmt::format(
        "the containers of {} ask for {} percent and {} GiB together; they must fit one card", who,
        all.percent, all.memory_mib / kChunkMib));
  }
  const auto app = std::find_if(users.begin(), users.end(),
                                [&](std::size_t i) { return !pod.containers[i].init; });
  const std::size_t leader = app == users.end() ? users.front() : *app;
  core::GpuRequest& ask = reading.asks[leader];
  ask.count = 1;
  ask.memory_mib = static_cast<std::int32_t>(all.memory_mib);
  if (all.percent > 0) ask.milli = static_cast<std::int32_t>(all.percent) * 10;
  std::copy_if(users.begin(), users.end(), std::back_inserter(reading.followers),
               [&](std::size_t i) { return i != leader; });
  return {};
}

void write_alnair(const AnswerRequest& ask, Answer& out) {
  out.annotations[std::string(kTimestamp)] = std::to_string(ask.unix_nanos);
}

// "UUID_0,UUID_1": the memory chunks that the agent allocated. All of them count, even if chunks of
// two cards have the same number.
Result<std::optional<core::Assignment>> read_alnair_answer(const PodObject& object,
                                                           const core::PodSpec& pod,
                                                           const core::NodeSpec& node) {
  const std::string* ids = find(object.annotations, kGpuId);
  if (ids == nullptr) return std::nullopt;
  const auto leader = std::find_if(pod.containers.begin(), pod.containers.end(),
                                   [](const auto& container) { return container.gpu.count > 0; });
  if (leader == pod.containers.end()) return std::nullopt;
  std::map<std::size_t, std::set<std::string>> chunks;  // by position of the card
  for (const std::string& chunk : comma_list(*ids)) {
    const std::string card_id = chunk.substr(0, chunk.rfind('_'));
    const auto card = std::find_if(node.cards.begin(), node.cards.end(),
                                   [&](const core::Card& c) { return c.id == card_id; });
    if (card == node.cards.end()) {
      return fail(
          fmt::format("{}: node {} has no card {}", kGpuId, node.name, card_id.substr(0, 64)));
    }
    chunks[static_cast<std::size_t>(card - node.cards.begin())].insert(chunk);
  }
  if (chunks.empty()) return std::nullopt;
  core::Assignment cards;
  cards.containers.resize(pod.containers.size());
  auto& shares = cards.containers[static_cast<std::size_t>(leader - pod.containers.begin())];
  for (const auto& [card, held] : chunks) {
    const auto mib = std::min<std::int64_t>(std::ssize(held) * kChunkMib, core::kMaxCardMemoryMib);
    shares.push_back({.card = static_cast<std::uint32_t>(card),
                      .milli = leader->gpu.milli.value_or(0),
                      .memory_mib = static_cast<std::int32_t>(mib)});
  }
  return cards;
}

// "16,16": the memory of each card in chunks. Empty if missing or invalid.
std::vector<std::int32_t> chunks_per_card(const NodeObject& node, Notes& notes) {
  std::vector<std::int32_t> chunks;
  for (const std::string_view name : kChunks) {
    const std::string* text = find(node.annotations, name);
    if (text == nullptr) continue;
    for (const std::string& entry : comma_list(*text)) {
      std::int32_t number = 0;
      const char* end = entry.data() + entry.size();
      const auto parsed = std::from_chars(entry.data(), end, number);
      if (parsed.ec != std::errc{} || parsed.ptr != end || number < 0 ||
          number > core::kMaxCardMemoryMib / kChunkMib) {
        notes.push_back(
            fmt::format("annotation {} has \"{}\"; it is ignored", name, entry.substr(0, 64)));
        return {};
      }
      chunks.push_back(number);
    }
    return chunks;
  }
  return chunks;
}

std::optional<CardSource> annotated_alnair(const NodeObject& node, Notes& notes) {
  const std::string* text = find(node.annotations, kUuids);
  if (text == nullptr) return std::nullopt;
  const std::vector<std::string> uuids = comma_list(*text);
  if (uuids.empty()) return std::nullopt;
  if (std::set<std::string>(uuids.begin(), uuids.end()).size() != uuids.size()) {
    notes.push_back(fmt::format("annotation {} names a card twice; it is ignored", kUuids));
    return std::nullopt;
  }
  auto chunks = chunks_per_card(node, notes);
  if (!chunks.empty() && chunks.size() != uuids.size()) {
    notes.push_back(fmt::format("annotation {} names {} cards, but {} memory sizes are given",
                                kUuids, uuids.size(), chunks.size()));
    chunks.clear();
  }
  CardSource source{.what = std::string(kUuids), .memory_unit_mib = kChunkMib};
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    source.cards.push_back({.id = uuids[i],
                            .index = static_cast<std::int32_t>(i),
                            .memory_mib = chunks.empty() ? 0 : chunks[i] * kChunkMib});
  }
  return source;
}

std::optional<CardSource> counted_alnair(const NodeObject& node, Notes& notes) {
  auto source = percent_cards(
      node, {.core_name = kCompute, .memory_name = kMemory, .unit_mib = kChunkMib}, notes);
  if (source || offered(node, kMemory, notes) == 0 || find(node.annotations, kUuids) != nullptr) {
    return source;
  }
  // The number of chunks does not tell the number of cards.
  const std::string* count = find(node.annotations, kCount);
  const auto cards = base::Quantity::parse(count == nullptr ? "" : *count);
  const auto number = cards ? cards->units() : Result<std::int64_t>(0);
  if (!number || *number <= 0) {
    notes.push_back(
        fmt::format("the node offers {}, but neither {} nor annotation {} gives the number of "
                    "cards; the node has no usable card",
                    kMemory, kCompute, kUuids));
    return std::nullopt;
  }
  const std::int64_t each = offered(node, kMemory, notes) / *number;
  return CardSource{
      .what = std::string(kCount),
      .cards = equal_cards(
          node, {.count = *number,
                 .memory_mib = std::min<std::int64_t>(each, core::kMaxCardMemoryMib) * kChunkMib}),
      .memory_unit_mib = kChunkMib};
}

}  // namespace

Dialect alnair() {
  return {.name = "alnair",
          .resources = kResources,
          .publishes = kPublishes,
          .read = read_alnair,
          .write = write_alnair,
          .read_answer = read_alnair_answer,
          .answers = kAnswers,
          .annotated = annotated_alnair,
          .counted = counted_alnair};
}

}  // namespace stowage::dialect
