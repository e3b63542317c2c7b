// Decoder::watch_event: the object is a JSON object inside the text; only bookmarks have the fields
// of bookmarks.
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::Decoder decoder;
  const auto event = decoder.watch_event(input);
  if (!good(event)) return;
  STOWAGE_CHECK(inside(event->object, input));
  STOWAGE_CHECK(event->object.starts_with('{') && event->object.ends_with('}'));
  if (event->type == codec::WatchEvent::Type::bookmark) return;
  STOWAGE_CHECK(event->resource_version.empty() && !event->initial_events_end);
}

}  // namespace stowage::fuzz
