// Keeps somebody informed of all objects of one resource: a paged list, then a watch from the
// list's version, for ever.
//
//   start -> listing --last page--> watching --clean end--> watching (from the last version seen)
//               ^  ^                   |  |
//               |  +--410, too old-----+  +--error: pause, then watch again from the last version
//               +--error: pause, then list again
//
// Bytes in, JSON out: the sink decodes. What the server sends may be protobuf, which costs it less.
// Lives on the client's loop; holds one page or one event at a time. Versions are compared for
// equality only, never ordered.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api_client.h"
#include "kube/clock.h"
#include "kube/outages.h"

namespace stowage::kube {

enum class ReflectorPhase : std::uint8_t {
  syncing,       // a list is under way: the sink's picture may be old
  live,          // the list is complete and the watch is open
  disconnected,  // the last attempt failed; another one follows
};

struct ReflectorStatus {
  ReflectorPhase phase = ReflectorPhase::syncing;
  bool synced = false;  // at least one list has been delivered completely
  std::string error;    // the last failure, while not live
  int code = 0;         // HTTP status of the last reply; 0: none came
  SteadyTime since;     // when this phase began
  friend bool operator==(const ReflectorStatus&, const ReflectorStatus&) = default;
};

// Whether the server serves it, for people.
void tell(Outages::Source& outage, const ReflectorStatus& status);

enum class WatchType : std::uint8_t { added, modified, deleted };

// Receives what the reflector learns. Views are valid during the call only. stop() and the
// reflector's destruction are allowed inside.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // A list begins, or begins anew because the one before it broke off: what on_item() brings from
  // here to on_list_end() is all there is. Items may be taken as true at once; that objects which
  // were not named are gone is known only at on_list_end().
  virtual void on_list_begin() = 0;
  virtual void on_item(
      std::string_view json) = 0;  // one object; kind and apiVersion may be missing
  virtual void on_list_end(std::string_view resource_version) = 0;

  // `deleted` carries the last state of the object. The same state may come twice.
  virtual void on_event(WatchType type, std::string_view json) = 0;

  // The phase or its error has changed.
  virtual void on_status(const ReflectorStatus& status) = 0;
  // A line or frame of the watch that could not be read was passed over. It may have been of any
  // object.
  virtual void on_bad_line(const std::string& error) = 0;
};

struct ReflectorOptions {
  std::string path;            // "/api/v1/pods"
  std::string field_selector;  // plain text, encoded here
  std::string label_selector;
  // Ask for protobuf, and take JSON where the server has nothing else. For pods and nodes only:
  // other kinds are not known. The sink gets the fields that the decoders look at.
  bool protobuf = false;
  // Lists come from what the server has at hand, which may be a little old, and whole: for who asks
  // for few objects out of many, and is one of thousands that do.
  bool from_cache = false;
  std::size_t page_limit = 500;                            // 0: one page
  net::Duration list_deadline = std::chrono::seconds{60};  // per page
  net::Duration watch_min = std::chrono::seconds{300};     // how long the server is asked to watch
  net::Duration watch_max = std::chrono::seconds{600};
  net::Duration silence_grace = std::chrono::seconds{30};  // beyond that without a byte: reopened
  net::Duration backoff_min = std::chrono::milliseconds{800};
  net::Duration backoff_max = std::chrono::seconds{30};
  net::Duration healthy_after = std::chrono::seconds{120};  // of watching: the backoff starts anew
  net::Duration relist_every = std::chrono::seconds{30};    // see relist_soon()
  std::size_t line_bytes_max = std::size_t{16} << 20U;      // beyond: passed over as a bad line
  std::uint64_t seed = 1;                                   // of the jitter
};

struct ReflectorCounters {
  std::uint64_t lists = 0;  // begun
  std::uint64_t pages = 0;
  std::uint64_t items = 0;
  std::uint64_t watches = 0;  // opened
  std::uint64_t events = 0;   // added, modified, deleted
  std::uint64_t bookmarks = 0;
  std::uint64_t bad_lines = 0;
  std::uint64_t failures = 0;  // that were followed by a pause
  std::uint64_t expired = 0;   // 410, each followed by a list
};

class Reflector {
 public:
  // `sink` outlives the reflector.
  Reflector(ApiClient& client, ReflectorOptions options, ReflectorSink& sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();  // once
  void stop();   // no callback comes after it

  // Lists again now.
  void relist();
  // The sink has lost something, and nobody can say of which object: only a list tells what is true
  // now. It begins at once, or when `relist_every` has passed since the last one that was asked for
  // so, in case the server keeps talking nonsense. Never forgotten: the first list that begins
  // after this call has it all, whatever that is for.
  void relist_soon();

  [[nodiscard]] const ReflectorStatus& status() const;
  [[nodiscard]] const ReflectorCounters& counters() const;
  [[nodiscard]] const std::string& resource_version() const;  // last seen; "" before the first list

 private:
  struct Body;
  struct Page;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
