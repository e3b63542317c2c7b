// Kubernetes JSON to plain data. Fields may be in any order, unknown ones are skipped, null means
// absent, and the last one of a repeated key counts. A wrong type or invalid JSON is an error that
// names the location. A pod of 3 KB takes a few microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "core/model/event.h"
#include "dialect/objects.h"

namespace stowage::codec {

struct ListPage {
  std::string resource_version;
  std::string continue_token;           // empty: the last page
  std::vector<std::string_view> items;  // JSON objects, views into the given text
};

struct WatchEvent {
  enum class Type : std::uint8_t { added, modified, deleted, bookmark, error };
  Type type = Type::added;
  std::string_view object;          // JSON, a view into the given text; for `error`: a Status
  std::string resource_version;     // for a bookmark
  bool initial_events_end = false;  // the bookmark that ends the initial events of a streaming list
};

// "ADDED", "MODIFIED", ...; unset for other words.
[[nodiscard]] std::optional<WatchEvent::Type> watch_event_type(std::string_view word);

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  friend bool operator==(const StatusCause&, const StatusCause&) = default;
};

// A Status: the API server's answer without an object, mostly an error.
struct StatusObject {
  std::int32_t code = 0;
  std::string status;  // "Success" or "Failure"
  std::string reason;  // e.g. "Conflict", "Expired"
  std::string message;
  std::int32_t retry_after_seconds = 0;
  std::string kind;  // of the object concerned
  std::string name;
  std::vector<StatusCause> causes;
  std::string own_kind;        // "Status"; empty if the text does not state it
  std::string continue_token;  // for an expired list: where an inconsistent continuation may start
  friend bool operator==(const StatusObject&, const StatusObject&) = default;
};

// An object besides nodes and pods that scheduling rules refer to.
struct DecodedAuxObject {
  std::string name;  // as in the object: "namespace/name" if it has a namespace
  std::string resource_version;
  core::AuxObject aux_object;
  friend bool operator==(const DecodedAuxObject&, const DecodedAuxObject&) = default;
};

// The identity of an object, without the rest.
struct ObjectIdentity {
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ObjectIdentity&, const ObjectIdentity&) = default;
};

// Reuses one parser and its buffers. Not thread-safe: use one per thread or connection.
class Decoder {
 public:
  [[nodiscard]] Result<dialect::PodObject> pod(std::string_view json);
  [[nodiscard]] Result<dialect::NodeObject> node(std::string_view json);
  // An object of this kind. Anything unsupported (an unknown selector operator, an impossible
  // amount) is an error, because a partly understood object would lead to wrong decisions.
  [[nodiscard]] Result<DecodedAuxObject> aux_object(core::AuxKind kind, std::string_view json);
  // Only the name of an object that may be unreadable otherwise.
  [[nodiscard]] Result<std::string> aux_object_name(core::AuxKind kind, std::string_view json);
  // The readable identity of an object that may be unreadable otherwise; unreadable fields are
  // empty.
  [[nodiscard]] ObjectIdentity identity(std::string_view json);
  [[nodiscard]] Result<ListPage> list(std::string_view json);
  [[nodiscard]] Result<WatchEvent> watch_event(std::string_view json);
  [[nodiscard]] Result<StatusObject> status(std::string_view json);

 private:
  JsonText text_;
};

}  // namespace stowage::codec
