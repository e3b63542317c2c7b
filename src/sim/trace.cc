#include "sim/trace.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "sim/csv.h"
#include "sim/text.h"

namespace stowage::sim {
namespace {

// Far beyond any machine, and small enough that sums over any file fit 64 bits.
constexpr WholeRange kCpuRange{0, 1'000'000'000};
constexpr WholeRange kMemoryRange{0, 1'000'000'000};
constexpr WholeRange kCardsRange{0, static_cast<std::int64_t>(core::kMaxCardsPerNode)};
constexpr WholeRange kMilliRange{0, 1'000'000};
constexpr WholeRange kCardMemoryRange{0, 10'000'000};
constexpr std::size_t kModelsMax = 256;

// The kubelet's default is 110; the published experiments allow 1001 pods on a node.
constexpr std::int64_t kPodsPerNode = 1001;

using Need = CsvColumn::Need;

namespace node_column {
enum : std::size_t { sn, cpu_milli, memory_mib, gpu, model, gpu_memory_mib };
}
constexpr std::array<CsvColumn, 6> kNodeColumns{{{"sn"},
                                                 {"cpu_milli"},
                                                 {"memory_mib"},
                                                 {"gpu"},
                                                 {"model"},
                                                 {"gpu_memory_mib", Need::optional}}};

namespace pod_column {
enum : std::size_t { name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, gpu_memory_mib };
}
constexpr std::array<CsvColumn, 12> kPodColumns{{{"name"},
                                                 {"cpu_milli"},
                                                 {"memory_mib"},
                                                 {"num_gpu"},
                                                 {"gpu_milli"},
                                                 {"gpu_spec", Need::optional},
                                                 {"gpu_memory_mib", Need::optional},
                                                 {"qos", Need::optional},
                                                 {"pod_phase", Need::optional},
                                                 {"creation_time", Need::optional},
                                                 {"deletion_time", Need::optional},
                                                 {"scheduled_time", Need::optional}}};

// Names in the first column must be plain and unique.
class NameColumn {
 public:
  explicit NameColumn(const CsvTable& table) : table_(table) {}

  [[nodiscard]] Result<std::string> at(std::size_t row) {
    const std::string_view name = table_.text(row, 0);
    const Place place = table_.place(row, 0);
    if (!is_plain_name(name)) {
      return fail(fmt::format("{}:{}: {} is {}: expected 1 to 253 characters without blanks",
                              place.file, place.line, place.what, in_quotes(name)));
    }
    const auto [first, fresh] = line_of_.emplace(name, place.line);
    if (!fresh) {
      return fail(fmt::format("{}:{}: {} is {}: the name is used already in line {}", place.file,
                              place.line, place.what, in_quotes(name), first->second));
    }
    return std::string(name);
  }

 private:
  const CsvTable& table_;
  std::unordered_map<std::string_view, std::size_t> line_of_;
};

// The memory of a card may be empty, in both files.
Result<std::int32_t> card_memory(const CsvTable& table, std::size_t row, std::size_t column) {
  if (!table.has(column) || table.text(row, column).empty()) return 0;
  STOWAGE_TRY(mib, table.whole(row, column, kCardMemoryRange));
  return static_cast<std::int32_t>(mib);
}

Result<std::string> model_list(const CsvTable& table, std::size_t row) {
  if (!table.has(pod_column::gpu_spec)) return std::string();
  const std::string_view spec = table.text(row, pod_column::gpu_spec);
  if (spec.empty()) return std::string();
  const auto models = split(spec, '|');
  const bool sound = std::all_of(models.begin(), models.end(), is_plain_name);
  if (!sound || models.size() > kModelsMax) {
    const Place place = table.place(row, pod_column::gpu_spec);
    return fail(fmt::format("{}:{}: {} is {}: expected up to {} GPU models with | between them",
                            place.file, place.line, place.what, in_quotes(spec), kModelsMax));
  }
  return std::string(spec);
}

Result<TraceNode> node_at(const CsvTable& table, std::size_t row) {
  TraceNode node;
  STOWAGE_TRY(cpu, table.whole(row, node_column::cpu_milli, kCpuRange));
  STOWAGE_TRY(memory, table.whole(row, node_column::memory_mib, kMemoryRange));
  STOWAGE_TRY(gpus, table.whole(row, node_column::gpu, kCardsRange));
  STOWAGE_TRY(gpu_memory, card_memory(table, row, node_column::gpu_memory_mib));
  node.cpu_milli = cpu;
  node.memory_mib = memory;
  node.gpus = static_cast<std::int32_t>(gpus);
  node.gpu_memory_mib = gpu_memory;
  const std::string_view model = table.text(row, node_column::model);
  if (!model.empty() && (!is_plain_name(model) || model.find('|') != std::string_view::npos)) {
    const Place place = table.place(row, node_column::model);
    return fail(fmt::format("{}:{}: model is {}: expected one GPU model", place.file, place.line,
                            in_quotes(model)));
  }
  node.model = model;
  return node;
}

Result<TracePod> pod_at(const CsvTable& table, std::size_t row) {
  TracePod pod;
  STOWAGE_TRY(cpu, table.whole(row, pod_column::cpu_milli, kCpuRange));
  STOWAGE_TRY(memory, table.whole(row, pod_column::memory_mib, kMemoryRange));
  STOWAGE_TRY(cards, table.whole(row, pod_column::num_gpu, kCardsRange));
  STOWAGE_TRY(milli, table.whole(row, pod_column::gpu_milli, kMilliRange));
  STOWAGE_TRY(gpu_memory, card_memory(table, row, pod_column::gpu_memory_mib));
  STOWAGE_TRY(spec, model_list(table, row));
  pod.cpu_milli = cpu;
  pod.memory_mib = memory;
  pod.num_gpu = static_cast<std::int32_t>(cards);
  pod.gpu_spec = std::move(spec);
  if (cards == 0) return pod;
  pod.gpu_milli = static_cast<std::int32_t>(std::min<std::int64_t>(milli, core::kMilliPerCard));
  pod.gpu_memory_mib = gpu_memory;
  if (pod.gpu_milli == 0 && pod.gpu_memory_mib == 0) {
    const Place place = table.place(row, pod_column::gpu_milli);
    return fail(fmt::format(
        "{}:{}: gpu_milli is {}: a pod with num_gpu {} must ask for a share of each card",
        place.file, place.line, in_quotes(table.text(row, pod_column::gpu_milli)), cards));
  }
  return pod;
}

}  // namespace

PodKind kind_of(const TracePod& pod) {
  if (pod.num_gpu == 0) return PodKind::cpu;
  if (pod.num_gpu > 1) return PodKind::multi;
  return pod.gpu_milli < core::kMilliPerCard ? PodKind::share : PodKind::whole;
}

const char* to_string(PodKind kind) {
  constexpr std::array<const char*, kPodKinds> kWords{"cpu", "share", "whole", "multi"};
  return kWords[static_cast<std::size_t>(kind)];
}

Result<std::vector<TraceNode>> parse_nodes(std::string_view file, std::string_view text) {
  STOWAGE_TRY(table, CsvTable::parse(file, text, kNodeColumns));
  if (table.rows() == 0) return fail(fmt::format("{}: the file has no nodes", file));
  NameColumn names(table);
  std::vector<TraceNode> nodes;
  nodes.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    STOWAGE_TRY(name, names.at(row));
    STOWAGE_TRY(node, node_at(table, row));
    node.name = std::move(name);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<TracePod>> parse_pods(std::string_view file, std::string_view text) {
  STOWAGE_TRY(table, CsvTable::parse(file, text, kPodColumns));
  if (table.rows() == 0) return fail(fmt::format("{}: the file has no pods", file));
  NameColumn names(table);
  std::vector<TracePod> pods;
  pods.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    STOWAGE_TRY(name, names.at(row));
    STOWAGE_TRY(pod, pod_at(table, row));
    pod.name = std::move(name);
    pods.push_back(std::move(pod));
  }
  return pods;
}

Result<std::vector<TraceNode>> read_nodes(const std::string& path) {
  STOWAGE_TRY(text, base::read_file(path, kInputBytesMax));
  return parse_nodes(path, text);
}

Result<std::vector<TracePod>> read_pods(const std::string& path) {
  STOWAGE_TRY(text, base::read_file(path, kInputBytesMax));
  return parse_pods(path, text);
}

std::vector<std::string> models_of(std::string_view gpu_spec) {
  std::vector<std::string> models;
  if (gpu_spec.empty()) return models;
  for (const std::string_view model : split(gpu_spec, '|')) {
    if (std::find(models.begin(), models.end(), model) == models.end()) models.emplace_back(model);
  }
  return models;
}

core::NodeSpec to_node_spec(const TraceNode& node, std::uint32_t rank) {
  core::NodeSpec spec;
  spec.name = node.name;
  spec.allocatable.cpu_milli = node.cpu_milli;
  spec.allocatable.memory_bytes = node.memory_mib << 20U;
  spec.allocatable.pods = kPodsPerNode;
  spec.rank = rank;
  for (std::int32_t index = 0; index < node.gpus; ++index) {
    core::Card card;
    card.id = fmt::format("{}/{}", node.name, index);
    card.index = index;
    card.model = node.model;
    card.memory_mib = node.gpu_memory_mib;
    spec.cards.push_back(std::move(card));
  }
  return spec;
}

core::PodSpec to_pod_spec(const TracePod& pod, std::string uid) {
  core::PodSpec spec;
  spec.uid = std::move(uid);
  spec.name = "default/" + pod.name;
  core::ContainerSpec& main = spec.containers.emplace_back();
  main.name = "main";
  main.resources.cpu_milli = pod.cpu_milli;
  main.resources.memory_bytes = pod.memory_mib << 20U;
  if (pod.num_gpu == 0) return spec;
  main.gpu.count = pod.num_gpu;
  if (pod.gpu_milli > 0) main.gpu.milli = pod.gpu_milli;
  // A whole card includes all its memory, so the pod's memory request adds nothing.
  if (pod.gpu_memory_mib > 0 && pod.gpu_milli < core::kMilliPerCard) {
    main.gpu.memory_mib = pod.gpu_memory_mib;
  }
  main.gpu.filter.models_any = models_of(pod.gpu_spec);
  return spec;
}

}  // namespace stowage::sim
