// Protobuf messages of the API server: objects in an envelope, pages of lists, watch events. Views
// refer to the given bytes. See ProtobufJson for the objects themselves.
#pragma once

#include <string_view>

#include "base/result.h"
#include "codec/kubernetes.h"

namespace stowage::codec {

struct ProtobufObject {
  std::string_view kind;     // "Pod"
  std::string_view message;  // its fields
};
// An object as the body of a reply.
[[nodiscard]] Result<ProtobufObject> protobuf_object(std::string_view bytes);

// A page whose items are all messages of one kind.
struct ProtobufPage {
  std::string_view kind;  // of the items: "Pod"
  ListPage page;
};
[[nodiscard]] Result<ProtobufPage> protobuf_list(std::string_view bytes);

// The content of one frame of a watch. The object of the event is a message of this kind.
struct ProtobufEvent {
  std::string_view kind;
  WatchEvent event;
};
[[nodiscard]] Result<ProtobufEvent> protobuf_watch_event(std::string_view bytes);

// metadata.resourceVersion of an object's message; empty if none exists.
[[nodiscard]] std::string_view protobuf_version(std::string_view message);

}  // namespace stowage::codec
