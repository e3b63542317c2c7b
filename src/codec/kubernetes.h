// Kubernetes JSON to plain data. Fields may come in any order, unknown ones are skipped, null means
// absent, of a repeated key the last counts. What has the wrong type or is no JSON is an error that
// names the place. A pod of 3 KB takes a few microseconds.
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
  std::string continue_token;           // empty: this is the last page
  std::vector<std::string_view> items;  // each a JSON object, views into the text that was given
};

struct WatchEvent {
  enum class Type : std::uint8_t { added, modified, deleted, bookmark, error };
  Type type = Type::added;
  std::string_view object;       // JSON, a view into the text that was given; of `error`: a Status
  std::string resource_version;  // of a bookmark
  bool initial_events_end = false;  // the bookmark that ends the initial events of a streaming list
};

// "ADDED", "MODIFIED", ...; unset for another word.
[[nodiscard]] std::optional<WatchEvent::Type> watch_event_type(std::string_view word);

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  friend bool operator==(const StatusCause&, const StatusCause&) = default;
};

// A Status: the API server's answer when it has nothing else to say, mostly an error.
struct StatusObject {
  std::int32_t code = 0;
  std::string status;  // "Success" or "Failure"
  std::string reason;  // e.g. "Conflict", "Expired"
  std::string message;
  std::int32_t retry_after_seconds = 0;
  std::string kind;  // of the object that it is about
  std::string name;
  std::vector<StatusCause> causes;
  std::string own_kind;        // "Status"; empty where the form of the text has none
  std::string continue_token;  // of an expired list: where an inconsistent continuation may start
  friend bool operator==(const StatusObject&, const StatusObject&) = default;
};

// One of the objects that rules of scheduling speak of, besides nodes and pods.
struct ThingObject {
  std::string name;  // as the thing itself has it: "namespace/name" where it has a namespace
  std::string resource_version;
  core::Thing thing;
  friend bool operator==(const ThingObject&, const ThingObject&) = default;
};

// Which object it is, without the rest of it.
struct ObjectIdentity {
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ObjectIdentity&, const ObjectIdentity&) = default;
};

// Keeps one parser and its buffers. Not thread-safe: one for each thread or connection.
class Decoder {
 public:
  [[nodiscard]] Result<dialect::PodObject> pod(std::string_view json);
  [[nodiscard]] Result<dialect::NodeObject> node(std::string_view json);
  // An object of that kind. What can not be expressed (an unknown operator of a selector, an amount
  // that no machine has) is an error: a thing that is half understood would be a guess.
  [[nodiscard]] Result<ThingObject> thing(core::ThingKind kind, std::string_view json);
  // Its name alone, of an object that may be unreadable otherwise.
  [[nodiscard]] Result<std::string> thing_name(core::ThingKind kind, std::string_view json);
  // What can be read of the identity of an object that may be unreadable otherwise; a field that
  // can not be read is empty.
  [[nodiscard]] ObjectIdentity identity(std::string_view json);
  [[nodiscard]] Result<ListPage> list(std::string_view json);
  [[nodiscard]] Result<WatchEvent> watch_event(std::string_view json);
  [[nodiscard]] Result<StatusObject> status(std::string_view json);

 private:
  JsonText text_;
};

}  // namespace stowage::codec
