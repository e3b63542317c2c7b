// Reads lists and watches in the server's format and passes objects on as JSON. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/kubernetes.h"
#include "codec/protobuf_json.h"
#include "kube/api_client.h"
#include "kube/object_version.h"

namespace stowage::kube {

enum class WireForm : std::uint8_t { json, protobuf };

// The Accept header: protobuf where the server has it.
inline constexpr const char* kAcceptProtobuf =
    "application/vnd.kubernetes.protobuf,application/json";
// By its Content-Type.
[[nodiscard]] WireForm wire_form(const ApiReply& reply);

class ObjectReader {
 public:
  // Objects in the results are views of the input, in its format; see json().
  [[nodiscard]] Result<codec::ListPage> list(WireForm form, std::string_view body);
  // `event` is one line of JSON, or the content of one frame.
  [[nodiscard]] Result<codec::WatchEvent> watch_event(WireForm form, std::string_view event);

  // An object of the last list or event. Valid until the next call.
  [[nodiscard]] Result<std::string_view> json(WireForm form, std::string_view object);
  // Its metadata.resourceVersion; empty if it cannot be found.
  [[nodiscard]] std::string version(WireForm form, std::string_view object);

 private:
  [[nodiscard]] Status set_kind(std::string_view kind);

  codec::Decoder decoder_;
  codec::ProtobufJson transcoder_;
  const codec::ProtobufMessage* message_ = nullptr;  // of the last list or event
  ObjectVersion versions_;
};

}  // namespace stowage::kube
