#include "kube/object_reader.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/protobuf_objects.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kMaxShown = 64;

}  // namespace

WireForm wire_form(const ApiReply& reply) {
  constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
  const std::string_view type = net::find_header(reply.headers, "Content-Type");
  return type.starts_with(kProtobuf) ? WireForm::protobuf : WireForm::json;
}

Status ObjectReader::set_kind(std::string_view kind) {
  message_ = codec::protobuf_message(kind);
  if (message_ != nullptr) return {};
  return fail(
      fmt::format("the protobuf form of \"{}\" is not supported", kind.substr(0, kMaxShown)));
}

Result<codec::ListPage> ObjectReader::list(WireForm form, std::string_view body) {
  if (form == WireForm::json) return decoder_.list(body);
  STOWAGE_TRY(list, codec::protobuf_list(body));
  STOWAGE_TRY_VOID(set_kind(list.kind));
  return std::move(list.page);
}

Result<codec::WatchEvent> ObjectReader::watch_event(WireForm form, std::string_view event) {
  if (form == WireForm::json) return decoder_.watch_event(event);
  STOWAGE_TRY(decoded, codec::protobuf_watch_event(event));
  STOWAGE_TRY_VOID(set_kind(decoded.kind));
  return std::move(decoded.event);
}

Result<std::string_view> ObjectReader::json(WireForm form, std::string_view object) {
  if (form == WireForm::json) return object;
  STOWAGE_CHECK(message_ != nullptr);
  return transcoder_.text(*message_, object);
}

std::string ObjectReader::version(WireForm form, std::string_view object) {
  if (form == WireForm::json) return versions_.of(object);
  return std::string(codec::protobuf_version(object));
}

}  // namespace stowage::kube
