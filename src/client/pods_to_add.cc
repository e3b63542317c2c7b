#include "client/pods_to_add.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"
#include "codec/json_in.h"
#include "codec/kubernetes.h"

namespace stowage::client {
namespace {

using codec::JsonValue;

// The fields that are needed before the object is known to be readable.
struct Outline {
  std::string ns;
  std::string name;
  std::string generate_name;
  std::optional<std::int64_t> replicas;
  std::optional<std::int64_t> parallelism;
  std::optional<std::int64_t> completions;
  std::string_view pod_template;  // JSON; empty: none
};

Status read_count(JsonValue& value, std::optional<std::int64_t>& out) {
  STOWAGE_TRY_ASSIGN(out, value.integer());
  return {};
}

Status read_names(JsonValue& value, Outline& out) {
  return codec::each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "namespace") return codec::read(field, out.ns);
    if (key == "name") return codec::read(field, out.name);
    if (key == "generateName") return codec::read(field, out.generate_name);
    return {};
  });
}

Status read_counts(JsonValue& value, const codec::JsonText& text, Outline& out) {
  return codec::each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "replicas") return read_count(field, out.replicas);
    if (key == "parallelism") return read_count(field, out.parallelism);
    if (key == "completions") return read_count(field, out.completions);
    if (key == "template") {
      STOWAGE_TRY(raw, field.raw_object());
      out.pod_template = text.given(raw);
    }
    return {};
  });
}

// Reads as far as possible: `out` has the names even if the rest is wrong, if they come first.
Status read_outline(std::string_view json, bool counted, Outline& out) {
  codec::JsonText text;
  STOWAGE_TRY(fields, text.open(json, codec::kMaxObjectBytes));
  Status status;
  STOWAGE_TRY_VOID(codec::each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "metadata") return read_names(value, out);
    if (key == "spec" && counted) return read_counts(value, text, out);
    return {};
  }));
  return text.close();
}

// The kinds that create pods from a template.
bool makes_pods(std::string_view kind) {
  constexpr std::string_view kKinds[] = {"Deployment", "ReplicaSet", "ReplicationController",
                                         "StatefulSet", "Job"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

Result<std::int64_t> pods_of(const Outline& outline, bool job) {
  std::int64_t count = outline.replicas.value_or(1);
  if (job) {
    count = outline.parallelism.value_or(1);
    if (outline.completions) count = std::min(count, *outline.completions);
  }
  if (count < 0 || count > static_cast<std::int64_t>(kMaxReplicas)) {
    return fail(fmt::format("it asks for {} pods; write 0 to {}", count, kMaxReplicas));
  }
  return count;
}

// Fills in the fields that the API server would. The name has no namespace.
PodToAdd complete(dialect::PodObject object, const std::string& ns, std::string name) {
  PodToAdd pod{.object = std::move(object)};
  pod.object.ns = ns;
  pod.object.name = std::move(name);
  pod.name = fmt::format("{}/{}", ns, pod.object.name);
  if (pod.object.uid.empty()) pod.object.uid = made_uid(pod.name);
  return pod;
}

std::string whole_name(const Outline& outline) {
  return outline.name.empty() && !outline.generate_name.empty() ? outline.generate_name + "0"
                                                                : outline.name;
}

void add_unread(const Manifest& manifest, const std::string& pod, std::string_view why,
                PodsToAdd& out) {
  out.pods.push_back(
      {.name = pod, .unread = fmt::format("{} ({}): {}", manifest.place(), manifest.kind, why)});
}

}  // namespace

std::string made_uid(std::string_view pod) {
  const auto hash = [&](std::uint64_t state) {  // FNV-1a
    for (const char c : pod) {
      state ^= static_cast<unsigned char>(c);
      state *= 0x100000001b3U;
    }
    return state;
  };
  const std::uint64_t high = hash(0xcbf29ce484222325U);
  const std::uint64_t low = hash(high);
  return fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", high >> 32U, (high >> 16U) & 0xffffU,
                     high & 0xfffU, low >> 52U, low & 0xffffffffffffU);
}

void add_pods_of(const Manifest& manifest, PodsToAdd& out) {
  const bool workload = makes_pods(manifest.kind);
  if (!workload && manifest.kind != "Pod") {
    if (std::find(out.passed_over.begin(), out.passed_over.end(), manifest.kind) ==
        out.passed_over.end()) {
      out.passed_over.push_back(manifest.kind);
    }
    return;
  }
  Outline outline;
  const Status status = read_outline(manifest.json, workload, outline);
  const std::string ns = outline.ns.empty() ? "default" : outline.ns;
  const std::string name = whole_name(outline);
  const std::string full = fmt::format("{}/{}", ns, name);
  if (!status) return add_unread(manifest, full, status.error().message, out);
  if (name.empty()) return add_unread(manifest, full, "metadata.name: missing", out);
  if (workload && outline.pod_template.empty()) {
    return add_unread(manifest, full, "spec.template: missing", out);
  }
  codec::Decoder decoder;
  auto object = decoder.pod(workload ? outline.pod_template : manifest.json);
  if (!object) {
    return add_unread(manifest, full, (workload ? "spec.template." : "") + object.error().message,
                      out);
  }
  if (!workload) return out.pods.push_back(complete(std::move(*object), ns, name));
  const auto count = pods_of(outline, manifest.kind == "Job");
  if (!count) return add_unread(manifest, full, count.error().message, out);
  for (std::int64_t i = 0; i < *count; ++i) {
    dialect::PodObject copy = *object;
    copy.uid.clear();
    out.pods.push_back(complete(std::move(copy), ns, fmt::format("{}-{}", name, i)));
  }
}

}  // namespace stowage::client
