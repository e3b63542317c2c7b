// What the workload controllers share: a list of objects to reconcile, pods made from templates,
// amounts that may be percentages.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "local/api.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/work_queue.h"

namespace stowage::local {

// Objects of one kind that have to be reconciled. They are reconciled together shortly after the
// first was added, so that a burst of events costs one pass. The store has delivered everything
// before a pass.
class WorkList {
 public:
  using Look = std::function<void(const ObjectName&)>;
  WorkList(Store& store, WorkQueue& queue, Look look,
           std::chrono::microseconds gather = std::chrono::milliseconds{20});
  WorkList(const WorkList&) = delete;
  WorkList& operator=(const WorkList&) = delete;

  void add(const ObjectName& name);
  void add_after(const ObjectName& name, std::chrono::microseconds delay);

 private:
  void run();

  Store& store_;
  WorkQueue& queue_;
  Look look_;
  std::set<ObjectName> names_;
  Soon soon_;
};

// Reports all existing objects of a kind as added, and then every change, as long as the watch is
// kept.
[[nodiscard]] Watch follow(Store& store, Kind kind,
                           const std::function<void(const WatchEvent&)>& upsert);

// A pod made from its owner's template, with the owner's reference, without a name.
[[nodiscard]] json::object pod_of_template(const StoredObject& owner, const json::object& tree);
// The reference by which the owner controls an object.
[[nodiscard]] json::object owner_reference(const StoredObject& owner);

// "25%" of the total, rounded up or down; a number as it is; otherwise 0.
enum class Round : std::uint8_t { up, down };
[[nodiscard]] std::int64_t part_of(const json::value* amount, std::int64_t total, Round round);

// A hash of the text, in letters that are valid in names and form no words.
[[nodiscard]] std::string name_hash(std::string_view text);

// Sets a count; removes the field if it is 0, as the API does.
void set_count(json::object& status, std::string_view key, std::int64_t count);

// Removes an owner's reference from an object, or adds it. A failure is retried with the next pass.
void disown(Api& api, const ObjectPtr& object, const std::string& owner_uid);
void adopt(Api& api, const ObjectPtr& object, const StoredObject& owner);

}  // namespace stowage::local
