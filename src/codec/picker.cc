#include "codec/picker.h"

#include "base/json_writer.h"
#include "codec/json_in.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kAnnotationMax = 256;
constexpr std::size_t kAnswerMax = std::size_t{64} << 10U;

const char* phase_word(core::Phase phase) {
  switch (phase) {
    case core::Phase::app: return "app";
    case core::Phase::init: return "init";
    case core::Phase::sidecar: return "sidecar";
  }
  return "app";
}

// Numbers may be missing: a share of compute leaves memory open, and the reverse.
void put_containers(JsonWriter& json, const core::PodSpec& pod) {
  json.key("containers").begin_array();
  for (const auto& container : pod.containers) {
    if (container.gpu.count == 0) continue;
    json.begin_object();
    json.key("name").value(container.name).key("phase").value(phase_word(container.phase));
    json.key("cards").value(container.gpu.count);
    json.key("whole").boolean(container.gpu.whole());
    if (container.gpu.milli) json.key("gpuMilli").value(*container.gpu.milli);
    if (container.gpu.memory_mib && *container.gpu.memory_mib >= 0) {
      json.key("gpuMemoryMiB").value(*container.gpu.memory_mib);
    }
    json.end_object();
  }
  json.end_array();
}

void put_pod(JsonWriter& json, const PickerQuestion& question) {
  const core::PodSpec& pod = question.pod;
  json.key("pod").begin_object();
  json.key("namespace").value(question.object.ns).key("name").value(question.object.name);
  json.key("uid").value(pod.uid).key("priority").value(pod.priority);
  json.key("labels").begin_object();
  for (const auto& [key, value] : pod.constraints.labels) json.key(key).value(value);
  json.end_object();
  json.key("annotations").begin_object();
  for (const auto& [key, value] : question.object.annotations) {
    if (value.size() <= kAnnotationMax) json.key(key).value(value);
  }
  json.end_object();
  const core::Resources whole = core::effective_resources(pod);
  json.key("request").begin_object();
  json.key("cpuMilli").value(whole.cpu_milli).key("memoryBytes").value(whole.memory_bytes);
  put_containers(json, pod);
  json.end_object().end_object();
}

}  // namespace

std::string picker_question(const PickerQuestion& question) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("apiVersion").value(kPickerApiVersion);
  put_pod(json, question);
  json.key("candidates").begin_array();
  std::int32_t rank = 0;
  for (const auto& candidate : question.ask.candidates) {
    json.begin_object();
    json.key("node").value(candidate.node).key("rank").value(rank++);
    json.key("cost").value(candidate.cost);
    json.key("free").begin_object();
    json.key("cpuMilli").value(candidate.cpu_free_milli);
    json.key("memoryBytes").value(candidate.memory_free_bytes);
    json.key("cards").value(candidate.cards).key("cardsIdle").value(candidate.cards_idle);
    json.key("gpuMilli").value(candidate.milli_free);
    json.key("gpuMemoryMiB").value(candidate.card_memory_free);
    json.end_object();
    json.key("pods").value(candidate.pods);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

Result<std::string> picker_answer(std::string_view json) {
  JsonText text;
  std::string node;
  bool named = false;
  STOWAGE_TRY(fields, text.open(json, kAnswerMax));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key != "node") return {};
    named = true;
    return read(value, node);
  }));
  STOWAGE_TRY_VOID(text.close());
  if (!named) return fail("the field node is missing: answer {\"node\":\"\"} for no opinion");
  return node;
}

}  // namespace stowage::codec
