// All objects of the local cluster, in memory, with one version counter and the history that
// watches read. It does not know what kinds mean: writes should go through local/api.h. One thread.
// Deterministic: equal calls give equal objects, versions and events.
//
// An object is serialised once per write; lists, gets and watches share those bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "local/api_error.h"
#include "local/json.h"
#include "local/resources.h"
#include "local/selectors.h"
#include "local/wall_time.h"

namespace stowage::local {

struct ObjectName {
  std::string ns;  // "" for objects of the whole cluster
  std::string name;
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};

// One version of one object; immutable.
struct StoredObject {
  Kind kind = Kind::pod;
  ObjectName name;
  std::string uid;
  std::uint64_t version = 0;  // metadata.resourceVersion
  Labels labels;
  std::vector<std::string> fields;  // the values of Resource::fields; "" if absent
  std::string owner_uid;            // of the owner that has controller: true
  bool deleting = false;            // has a deletionTimestamp
  // The whole object as JSON; begins with apiVersion, kind and metadata.
  std::string bytes;

  // The bytes after the version: equal for equal objects of different versions.
  [[nodiscard]] std::string_view rest() const;
  // The value of a path of Resource::fields, such as "spec.nodeName".
  [[nodiscard]] std::string_view field(std::string_view path) const;
  // The object as a tree, for reading or as the start of a new version. Costs a parse (microseconds
  // per kilobyte); give a monotonic resource where speed matters.
  [[nodiscard]] json::object tree(json::storage_ptr memory = {}) const;
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

// Restricts a list or watch.
struct Filter {
  std::string ns;  // "": all namespaces
  LabelSelector labels;
  FieldSelector fields;

  [[nodiscard]] bool matches(const StoredObject& object) const;
  [[nodiscard]] bool empty() const {
    return ns.empty() && labels.all.empty() && fields.all.empty();
  }
};

enum class Change : std::uint8_t { added, modified, deleted };

// One write, as a watch reports it. `object` of a deletion is the last state with the version of
// the deletion. `previous` is null for a creation.
struct WatchEvent {
  Change change = Change::added;
  ObjectPtr object;
  ObjectPtr previous;

  [[nodiscard]] std::uint64_t version() const { return object->version; }
};

// The event as a watcher with this filter sees it: an object that begins to match is added, one
// that stops matching is deleted (then `object` is its last matching state with the version of this
// event). Unset if the watcher does not see it.
[[nodiscard]] std::optional<WatchEvent> seen_through(const Filter& filter, const WatchEvent& event);

// A copy that differs only in metadata.resourceVersion.
[[nodiscard]] ObjectPtr with_version(const StoredObject& object, std::uint64_t version);

struct ListQuery {
  Filter filter;
  std::size_t limit = 0;            // 0: all
  std::optional<ObjectName> after;  // the page begins after this one
  std::uint64_t at_version = 0;     // 0: now; else exactly that state, if history reaches back
};

struct ListPage {
  std::uint64_t version = 0;
  std::vector<ObjectPtr> items;  // by namespace, then name
  bool more = false;             // the next page begins after items.back()
  std::size_t remaining = 0;     // how many are left; only counted for an empty filter
};

struct StoreOptions {
  std::function<WallTime()> now;  // required: stamps creationTimestamp
  std::uint64_t seed = 1;         // of the uids
  std::uint64_t first_version = 1;
  std::size_t history_events_max = 200'000;  // per kind; older watches are expired
  std::size_t history_bytes_max = 256U << 20U;
};

class Store;

// A registration that ends when the handle is destroyed.
class Watch {
 public:
  Watch() = default;
  ~Watch();
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;

  [[nodiscard]] bool active() const { return store_ != nullptr; }
  // All events up to this version have been given to the watcher.
  [[nodiscard]] std::uint64_t delivered() const;
  // A watcher that returned pause gets events again from the next deliver() on.
  void resume();

 private:
  friend class Store;
  Watch(Store* store, std::uint64_t id) : store_(store), id_(id) {}
  Store* store_ = nullptr;
  std::uint64_t id_ = 0;
};

class Store {
 public:
  explicit Store(StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] WallTime now() const { return options_.now(); }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::size_t size(Kind kind) const;
  [[nodiscard]] std::string new_uid();

  [[nodiscard]] ObjectPtr get(Kind kind, const ObjectName& name) const;  // null if absent
  [[nodiscard]] ApiResult<ListPage> list(Kind kind, const ListQuery& query = {}) const;
  // Every object of the kind (and of the namespace, unless it is ""), in order, without a copy.
  void visit(Kind kind, std::string_view ns,
             const std::function<void(const ObjectPtr&)>& visitor) const;

  // Sets apiVersion, kind, metadata.name, .namespace, .uid, .creationTimestamp and
  // .resourceVersion; keeps a uid that is set. Error: AlreadyExists.
  ApiResult<ObjectPtr> create(Kind kind, const ObjectName& name, json::object object);
  // Replaces the object. A write without a change makes no new version. `expected`, unless 0, must
  // be the current version. Errors: NotFound, Conflict.
  ApiResult<ObjectPtr> update(Kind kind, const ObjectName& name, const json::object& object,
                              std::uint64_t expected = 0);
  // Removes it at once, despite finalizers, and returns the last state. Error: NotFound.
  ApiResult<ObjectPtr> remove(Kind kind, const ObjectName& name);
  // The object that create() or update() would store, for dry runs.
  [[nodiscard]] ObjectPtr preview(Kind kind, const ObjectName& name,
                                  const json::object& object) const;

  // Events. A write only queues: it makes no callbacks. deliver() passes on the queued events in
  // order, including those that callbacks cause. on_pending is called when the queue becomes
  // non-empty; a program posts deliver() to its loop there.
  enum class Flow : std::uint8_t { more, pause };
  using OnEvent = std::function<Flow(const WatchEvent&)>;
  using OnLost = std::function<void()>;   // paused too long, history is gone: list again
  using OnBatch = std::function<void()>;  // all events of this deliver() have been passed on
  // Events of versions above `since`. Error: Expired, if history does not reach back that far or
  // `since` is in the future.
  [[nodiscard]] ApiResult<Watch> watch(Kind kind, Filter filter, std::uint64_t since,
                                       OnEvent on_event, OnLost on_lost = {},
                                       OnBatch on_batch = {});
  // With a limit it stops after about that many events; on_pending is called again for the rest.
  void deliver(std::size_t events_max = std::numeric_limits<std::size_t>::max());
  void on_pending(std::function<void()> wake);

 private:
  friend class Watch;
  struct Watcher;
  struct KindStore;  // the objects, history and watchers of one kind

  [[nodiscard]] KindStore& kind_store(Kind kind);
  [[nodiscard]] const KindStore& kind_store(Kind kind) const;
  void record(KindStore& kind_store, WatchEvent event);
  bool deliver_kind(KindStore& kind_store, std::size_t& left);
  bool deliver_to(KindStore& kind_store, Watcher& watcher, std::size_t& left);
  void wake(KindStore& kind_store);
  [[nodiscard]] Watcher* watcher(std::uint64_t id) const;
  void unwatch(std::uint64_t id);

  StoreOptions options_;
  std::uint64_t version_ = 0;
  base::Rng uids_;
  std::vector<std::unique_ptr<KindStore>> kind_stores_;
  std::map<std::uint64_t, Kind> watched_;  // the kind that a watcher watches
  std::uint64_t next_watcher_ = 1;
  std::function<void()> on_pending_;
  bool woken_ = false;
  bool delivering_ = false;
};

}  // namespace stowage::local
