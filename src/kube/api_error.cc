
#include <fmt/format.h>

#include "base/number.h"
#include "codec/kubernetes.h"
#include "codec/protobuf_json.h"
#include "codec/protobuf_objects.h"
#include "kube/api_client.h"
#include "kube/object_reader.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBodyShown = 200;

// In JSON or protobuf.
Result<codec::StatusObject> status_of(const ApiReply& reply) {
  codec::Decoder decoder;
  if (wire_form(reply) == WireForm::json) return decoder.status(reply.body);
  STOWAGE_TRY(object, codec::protobuf_object(reply.body));
  if (object.kind != "Status") return fail("it is not a Status");
  codec::ProtobufJson transcoder;
  STOWAGE_TRY(json, transcoder.text(*codec::protobuf_message(object.kind), object.message));
  STOWAGE_TRY(status, decoder.status(json));
  status.own_kind = object.kind;
  return status;
}

// The server's message: that of a Status, or the beginning of any other body.
std::string words_of(const ApiReply& reply, codec::StatusObject& status) {
  if (auto decoded = status_of(reply)) status = std::move(*decoded);
  if (!status.message.empty()) return status.message;
  std::string text = reply.body.substr(0, kBodyShown);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace

std::string explain(const std::string& what, const ApiReply& reply) {
  codec::StatusObject status;
  const std::string words = words_of(reply, status);
  std::string text = fmt::format("cannot {}: {}", what, reply.status);
  if (!status.reason.empty()) text += fmt::format(" {}", status.reason);
  if (!words.empty()) text += fmt::format(": {}", words);
  if (reply.status == 401) text += "; the API server does not accept our credentials: renew them";
  if (reply.status == 403) text += "; grant that right with a role binding";
  return text;
}

bool says_not_found(const ApiReply& reply, std::string_view resource, std::string_view name) {
  if (reply.status != 404) return false;
  const auto status = status_of(reply);
  return status && status->own_kind == "Status" && status->reason == "NotFound" &&
         status->kind == resource && status->name == name;
}

std::string explain(const std::string& what, const CallResult& result) {
  return result ? explain(what, *result)
                : fmt::format("cannot {}: {}", what, result.error().message);
}

bool succeeded(const CallResult& result) {
  return result && result->status >= 200 && result->status < 300;
}

std::optional<net::Duration> retry_after(const ApiReply& reply) {
  const std::string_view header = net::find_header(reply.headers, "Retry-After");
  const auto seconds = base::parse_number<int>(header);
  if (seconds && *seconds >= 0) return std::chrono::seconds{*seconds};
  const auto status = status_of(reply);
  if (status && status->retry_after_seconds > 0) {
    return std::chrono::seconds{status->retry_after_seconds};
  }
  return std::nullopt;
}

}  // namespace stowage::kube
