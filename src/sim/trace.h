// A trace: the nodes of a cluster and the pods to place, in the format of the openb CSV files and
// as the engine's input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::sim {

// Larger files are refused: a trace of a million pods has 100 MiB.
inline constexpr std::size_t kInputBytesMax = std::size_t{1} << 30U;

struct TraceNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int32_t gpus = 0;
  std::string model;
  std::int32_t gpu_memory_mib = 0;  // per card; 0: unknown

  friend bool operator==(const TraceNode&, const TraceNode&) = default;
};

struct TracePod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int32_t num_gpu = 0;
  std::int32_t gpu_milli = 0;       // per card, at most 1000; 0: only memory, or no card
  std::string gpu_spec;             // accepted models, "A|B"; empty: any
  std::int32_t gpu_memory_mib = 0;  // per card; 0: not given

  friend bool operator==(const TracePod&, const TracePod&) = default;
};

struct Trace {
  std::vector<TraceNode> nodes;
  std::vector<TracePod> pods;
};

// The kind of a pod in results.
enum class PodKind : std::uint8_t { cpu, share, whole, multi };
inline constexpr std::size_t kPodKinds = 4;
[[nodiscard]] PodKind kind_of(const TracePod& pod);
[[nodiscard]] const char* to_string(PodKind kind);  // "cpu", "share", "whole", "multi"

// Reads the node file: sn, cpu_milli, memory_mib, gpu, model [, gpu_memory_mib].
[[nodiscard]] Result<std::vector<TraceNode>> read_nodes(const std::string& path);
[[nodiscard]] Result<std::vector<TraceNode>> parse_nodes(std::string_view file,
                                                         std::string_view text);

// Reads the pod file: name, cpu_milli, memory_mib, num_gpu, gpu_milli [, gpu_spec, gpu_memory_mib,
// qos, pod_phase, creation_time, deletion_time, scheduled_time]; the last five are not used.
// As published: gpu_milli above 1000 counts as 1000, and as 0 where num_gpu is 0.
[[nodiscard]] Result<std::vector<TracePod>> read_pods(const std::string& path);
[[nodiscard]] Result<std::vector<TracePod>> parse_pods(std::string_view file,
                                                       std::string_view text);

// The models of a gpu_spec, each once, in their order.
[[nodiscard]] std::vector<std::string> models_of(std::string_view gpu_spec);

// `rank` decides between nodes that a policy rates equally: the lower one wins.
[[nodiscard]] core::NodeSpec to_node_spec(const TraceNode& node, std::uint32_t rank);

// One container named "main". The same pod may arrive several times, each time with its own uid.
[[nodiscard]] core::PodSpec to_pod_spec(const TracePod& pod, std::string uid);

}  // namespace stowage::sim
