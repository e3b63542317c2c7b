// Keeps a sink informed of all objects of one resource: a paged list, then a watch from the list's
// version, for ever.
//
//   start -> listing --last page--> watching --clean end--> watching (from the last version seen)
//               ^  ^                   |  |
//               |  +--410, too old-----+  +--error: pause, then watch again from the last version
//               +--error: pause, then list again
//
// Bytes in, JSON out: the sink decodes. The server may send protobuf, which costs it less. Lives on
// the client's loop; holds one page or one event at a time. Versions are compared for equality
// only, never ordered.
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
  syncing,       // a list is under way: the sink's state may be old
  live,          // the list is complete and the watch is open
  disconnected,  // the last attempt failed; another follows
};

struct ReflectorStatus {
  ReflectorPhase phase = ReflectorPhase::syncing;
  bool synced = false;  // at least one list has been delivered completely
  std::string error;    // the last failure, while not live
  int code = 0;         // HTTP status of the last reply; 0: none came
  SteadyTime since;     // when this phase began
  friend bool operator==(const ReflectorStatus&, const ReflectorStatus&) = default;
};

// Reports to `outage` whether the server serves the resource.
void tell(Outages::Source& outage, const ReflectorStatus& status);

enum class WatchType : std::uint8_t { added, modified, deleted };

// Receives the objects. Views are valid during the call only. stop() and the destruction of the
// reflector are allowed inside.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // A list begins, or begins again because the previous one was interrupted. The items from here to
  // on_list_end() are all objects. Items may be used at once; objects that are not listed count as
  // deleted only at on_list_end().
  virtual void on_list_begin() = 0;
  virtual void on_item(
      std::string_view json) = 0;  // one object; kind and apiVersion may be missing
  virtual void on_list_end(std::string_view resource_version) = 0;

  // `deleted` carries the last state of the object. The same state may come twice.
  virtual void on_event(WatchType type, std::string_view json) = 0;

  // The phase or its error has changed.
  virtual void on_status(const ReflectorStatus& status) = 0;
  // A line or frame of the watch could not be read and was skipped. It may be about any object.
  virtual void on_bad_line(const std::string& error) = 0;
};

// One field for each part of the request, and for each limit and time.
struct ReflectorOptions {
  std::string path;            // "/api/v1/pods"
  std::string field_selector;  // plain text, encoded here
  std::string label_selector;
  // Request protobuf, and accept JSON if the server has nothing else. For pods and nodes only:
  // other kinds are not supported. The sink gets only the fields that the decoders read.
  bool protobuf = false;
  // Lists come from the server's cache, which may be a little old, and in one page: for clients
  // that request few objects out of many, and are many themselves.
  bool from_cache = false;
  std::size_t page_limit = 500;                            // 0: one page
  net::Duration list_deadline = std::chrono::seconds{60};  // per page
  net::Duration watch_min = std::chrono::seconds{300};     // requested duration of a watch
  net::Duration watch_max = std::chrono::seconds{600};
  net::Duration silence_grace = std::chrono::seconds{30};  // after this much more time without
                                                           // data: reopened
  net::Duration backoff_min = std::chrono::milliseconds{800};
  net::Duration backoff_max = std::chrono::seconds{30};
  net::Duration healthy_after = std::chrono::seconds{120};  // after this much time of watching the
                                                            // backoff is reset
  net::Duration relist_every = std::chrono::seconds{30};    // see relist_soon()
  std::size_t line_bytes_max = std::size_t{16} << 20U;      // longer ones are skipped as bad lines
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
  void stop();   // no callback follows

  // Lists again now.
  void relist();
  // The sink has missed an event about an unknown object: only a list shows the current state. It
  // begins at once, or when `relist_every` has passed since the last such list, in case the server
  // keeps sending bad data. It is never lost: the first list that begins after this call satisfies
  // it, whatever that list is for.
  void relist_soon();

  [[nodiscard]] const ReflectorStatus& status() const;
  [[nodiscard]] const ReflectorCounters& counters() const;
  [[nodiscard]] const std::string& resource_version() const;  // last seen; "" before the first list

 private:
  struct Impl;
  struct Page;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
