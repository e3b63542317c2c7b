// Protobuf of Kubernetes as a list, as an event of a watch and as a single object: views stay
// inside the input, and objects become JSON that the decoders can read or refuse.
#include "base/json_writer.h"
#include "base/testing/json_check.h"
#include "codec/kubernetes.h"
#include "codec/protobuf_json.h"
#include "codec/protobuf_objects.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

void check_object(std::string_view kind, std::string_view content) {
  const codec::ProtobufMessage* message = codec::protobuf_message(kind);
  if (message == nullptr) return;
  codec::ProtobufJson transcoder;
  const auto json = transcoder.text(*message, content);
  if (!good(json)) return;
  STOWAGE_CHECK(base::JsonCheck::valid(*json));
  codec::Decoder decoder;
  if (kind == "Pod") {
    const auto pod = decoder.pod(*json);
    const auto version = codec::protobuf_version(content);
    if (good(pod) && base::is_utf8(version)) STOWAGE_CHECK(pod->resource_version == version);
  } else if (kind == "Node") {
    static_cast<void>(good(decoder.node(*json)));
  } else {
    static_cast<void>(good(decoder.status(*json)));
  }
}

}  // namespace

void one(std::string_view input) {
  const auto list = codec::protobuf_list(input);
  if (good(list)) {
    for (const std::string_view item : list->page.items) {
      STOWAGE_CHECK(item.empty() || inside(item, input));
      check_object(list->kind, item);
    }
  }
  const auto object = codec::protobuf_object(input);
  if (good(object)) {
    STOWAGE_CHECK(object->message.empty() || inside(object->message, input));
    check_object(object->kind, object->message);
  }
  const auto event = codec::protobuf_watch_event(input);
  if (good(event)) {
    STOWAGE_CHECK(event->event.object.empty() || inside(event->event.object, input));
    check_object(event->kind, event->event.object);
    if (event->event.type == codec::WatchEvent::Type::bookmark) return;
    STOWAGE_CHECK(event->event.resource_version.empty() && !event->event.initial_events_end);
  }
}

}  // namespace stowage::fuzz
