#include "webhook/answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json_writer.h"

namespace stowage::webhook {
namespace {

using base::JsonWriter;

constexpr std::size_t kNameMax = 253;  // of a scheduler
constexpr std::int32_t kInvalid = 422;

JsonWriter& begin(JsonWriter& json, const std::string& uid, bool allowed) {
  json.begin_object().key("apiVersion").value("admission.k8s.io/v1");
  json.key("kind").value("AdmissionReview").key("response").begin_object();
  json.key("uid").value(uid).key("allowed").boolean(allowed);
  return json;
}

std::string refused(const std::string& uid, const std::string& why) {
  JsonWriter json(JsonWriter::Style::compact);
  begin(json, uid, false).key("status").begin_object();
  json.key("code").value(kInvalid).key("reason").value("Invalid");
  json.key("message").value(why).end_object().end_object().end_object();
  return json.take();
}

std::string allowed(const std::string& uid, const Change& change) {
  JsonWriter json(JsonWriter::Style::compact);
  begin(json, uid, true);
  if (!change.operations.empty()) {
    json.key("patchType").value("JSONPatch");
    json.key("patch").value(base::base64_encode(change.operations));
  }
  if (!change.warnings.empty()) {
    json.key("warnings").begin_array();
    for (const std::string& warning : change.warnings) json.value(warning);
    json.end_array();
  }
  json.end_object().end_object();
  return json.take();
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::allowed: return "allowed";
    case Verdict::patched: return "patched";
    case Verdict::refused: return "refused";
    case Verdict::unreadable: break;
  }
  return "unreadable";
}

Answer answer(PodReviewReader& reader, const Options& options, std::string_view body) {
  const auto pod = reader.read(body);
  if (!pod) {
    return {.body = fmt::format("the admission review cannot be read: {}\n", pod.error().message)};
  }
  if (!pod->creates_pod) return {Verdict::allowed, 200, allowed(pod->uid, {})};
  // The API server has read this pod, so it is its author who wrote more than we read. An answer of
  // 400 would let the pod pass where the webhook may fail.
  if (!pod->over_limit.empty()) {
    return {Verdict::refused, 200,
            refused(pod->uid, "Stowage cannot review the pod: " + pod->over_limit)};
  }
  if (const std::string why = refusal(*pod); !why.empty()) {
    return {Verdict::refused, 200, refused(pod->uid, why)};
  }
  const Change made = change(*pod, options);
  const Verdict verdict = made.operations.empty() ? Verdict::allowed : Verdict::patched;
  return {verdict, 200, allowed(pod->uid, made)};
}

bool is_webhook_path(std::string_view path) {
  return path == kPath || path.starts_with(std::string(kPath) + '/');
}

Result<std::string> scheduler_of(std::string_view path) {
  if (path == kPath) return std::string();
  std::string_view name = path;
  if (path.starts_with(kSchedulerPath)) {
    name.remove_prefix(kSchedulerPath.size());
    const bool valid = !name.empty() && name.size() <= kNameMax &&
                       std::all_of(name.begin(), name.end(), is_name_char);
    if (valid) return std::string(name);
  }
  return fail(fmt::format("there are {} and {}<name>", kPath, kSchedulerPath));
}

}  // namespace stowage::webhook
