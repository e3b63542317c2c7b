#include "bench/kube_objects.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace stowage::bench {
namespace {

constexpr std::size_t kFrameHead = 4;
constexpr std::string_view kMagic("k8s\0", 4);

// A field of wire type 2; all lengths here fit in two bytes.
std::string field(unsigned number, std::string_view bytes) {
  std::string text(1, static_cast<char>(number << 3U | 2U));
  std::size_t size = bytes.size();
  while (size >= 0x80) {
    text += static_cast<char>((size & 0x7FU) | 0x80U);
    size >>= 7U;
  }
  text += static_cast<char>(size);
  return text.append(bytes);
}

// The value after `key`, up to the quote.
std::string_view text_after(std::string_view json, std::string_view key) {
  const auto at = json.find(key);
  if (at == std::string_view::npos) return {};
  const auto begin = at + key.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

std::uint64_t read_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// The first field of wire type 2 with that number; the messages here have no others before it.
std::string_view bytes_of(std::string_view message, unsigned number) {
  while (!message.empty()) {
    const std::uint64_t tag = read_varint(message);
    const std::uint64_t size = read_varint(message);
    if ((tag & 7U) == 0) continue;
    if ((tag & 7U) != 2 || size > message.size()) return {};
    if (tag >> 3U == number) return message.substr(0, size);
    message.remove_prefix(size);
  }
  return {};
}

}  // namespace

std::string node_name(int number) { return fmt::format("gpu-node-{:05}", number); }

std::string pod_name(const std::string& prefix, int number) {
  return fmt::format("{}-{}", prefix, number);
}

std::string node_json(int number) {
  const std::string name = node_name(number);
  const std::string amounts =
      R"({"cpu":"128","memory":"1Ti","pods":"110","ephemeral-storage":"2Ti","nvidia.com/gpu":"8"})";
  std::string conditions;
  for (const std::string_view type :
       {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}) {
    conditions += fmt::format(R"({{"type":"{}","status":"False","reason":"Fine"}},)", type);
  }
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{)"
      R"("kubernetes.io/hostname":"{0}","kubernetes.io/arch":"amd64","kubernetes.io/os":"linux",)"
      R"("topology.kubernetes.io/region":"r1","topology.kubernetes.io/zone":"r1-{1}",)"
      R"("node.kubernetes.io/instance-type":"gpu8","nvidia.com/gpu.present":"true",)"
      R"("nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB","nvidia.com/gpu.memory":"81920",)"
      R"("nvidia.com/gpu.count":"8"}}}},"spec":{{"podCIDR":"10.{2}.{3}.0/24","taints":[)"
      R"({{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}}]}},"status":{{)"
      R"("capacity":{4},"allocatable":{4},"conditions":[{5})"
      R"({{"type":"Ready","status":"True","reason":"KubeletReady"}}],)"
      R"("addresses":[{{"type":"Hostname","address":"{0}"}}]}}}})",
      name, number % 3, number / 256 % 256, number % 256, amounts, conditions);
}

std::string pod_json(const std::string& prefix, int number, const std::string& scheduler) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","labels":{{)"
      R"("app.kubernetes.io/name":"train","app.kubernetes.io/part-of":"{1}","team":"t{2}"}}}},)"
      R"("spec":{{"schedulerName":"{3}","restartPolicy":"Never","priority":0,"containers":[{{)"
      R"("name":"main","image":"registry.example/train/resnet:2026.11","command":["python"],)"
      R"("args":["-m","train","--epochs","90","--batch","256"],"env":[)"
      R"({{"name":"RUN","value":"{0}"}},{{"name":"OMP_NUM_THREADS","value":"4"}},)"
      R"({{"name":"NODE","valueFrom":{{"fieldRef":{{"fieldPath":"spec.nodeName"}}}}}}],)"
      R"("resources":{{"requests":{{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"}},)"
      R"("limits":{{"memory":"32Gi","nvidia.com/gpu":"1"}}}},)"
      R"("volumeMounts":[{{"name":"shm","mountPath":"/dev/shm"}}]}}],)"
      R"("volumes":[{{"name":"shm","emptyDir":{{"medium":"Memory"}}}}],)"
      R"("tolerations":[{{"key":"nvidia.com/gpu","operator":"Exists"}}]}}}})",
      pod_name(prefix, number), prefix, number % 7, scheduler);
}

std::string binding_json(const std::string& pod, const std::string& node) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("target":{{"kind":"Node","name":"{}"}}}})",
      pod, node);
}

std::string binding_protobuf(const std::string& pod, const std::string& node) {
  const std::string metadata = field(1, pod) + field(3, "default");
  const std::string target = field(1, "Node") + field(3, node);
  const std::string kind = field(1, "v1") + field(2, "Binding");
  return std::string(kMagic) + field(1, kind) + field(2, field(1, metadata) + field(2, target)) +
         field(3, "") + field(4, "");
}

std::string event_json(const std::string& pod, const std::string& node) {
  const auto now = std::chrono::system_clock::now();
  const std::int64_t nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  return fmt::format(
      R"({{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{{"name":"{0}.{1:x}",)"
      R"("namespace":"default"}},"eventTime":"{2:%Y-%m-%dT%H:%M:%S}.{3:06}Z","type":"Normal",)"
      R"("reason":"Scheduled","action":"Binding",)"
      R"("note":"Successfully assigned default/{0} to {4}",)"
      R"("reportingController":"race","reportingInstance":"race","regarding":{{"apiVersion":"v1",)"
      R"("kind":"Pod","namespace":"default","name":"{0}"}}}})",
      pod, nanos, fmt::gmtime(nanos / 1'000'000'000), nanos / 1000 % 1'000'000, node);
}

PodSeen seen_json(std::string_view line) {
  // The name is first or second in the metadata.
  const std::string_view metadata = line.substr(std::min(line.find("\"metadata\":{"), line.size()));
  return {.name = text_after(metadata, "\"name\":\""),
          .version = text_after(line, "\"resourceVersion\":\"")};
}

std::size_t frame_size(std::string_view bytes) {
  if (bytes.size() < kFrameHead) return 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kFrameHead; ++i) {
    size = size << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return size + kFrameHead;
}

PodSeen seen_protobuf(std::string_view frame) {
  // WatchEvent.object.raw, after its four magic bytes an envelope whose field 2 is the pod.
  const std::string_view raw = bytes_of(bytes_of(frame.substr(kFrameHead), 2), 1);
  if (raw.size() < kMagic.size()) return {};
  const std::string_view metadata = bytes_of(bytes_of(raw.substr(kMagic.size()), 2), 1);
  return {.name = bytes_of(metadata, 1), .version = bytes_of(metadata, 6)};
}

}  // namespace stowage::bench
