// What the workload controllers have in common: a list of objects to look at, pods made from
// templates, amounts that may be percentages.
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

// Objects of one kind whose state must be compared with what they want. They are looked at together
// a moment after the first was added, so that a burst of events costs one look. The store has
// delivered everything before a look.
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

// Sees all objects of a kind that are there, as added, and then whatever changes, as long as the
// watch is kept.
[[nodiscard]] Watch follow(Store& store, Kind kind,
                           const std::function<void(const WatchEvent&)>& upsert);

// A pod as the template of its owner describes it, with the owner's reference, not yet named.
[[nodiscard]] json::object pod_of_template(const StoredObject& owner, const json::object& tree);
// The reference by which the owner controls an object.
[[nodiscard]] json::object owner_reference(const StoredObject& owner);

// "25%" of the total, rounded up or down; a number as it is; 0 if it is neither.
enum class Round : std::uint8_t { up, down };
[[nodiscard]] std::int64_t part_of(const json::value* amount, std::int64_t total, Round round);

// A hash of the text, in letters that may stand in names and make no words.
[[nodiscard]] std::string name_hash(std::string_view text);

// Sets or removes a field with a count, as the API leaves out zeros.
void set_count(json::object& status, std::string_view key, std::int64_t count);

// Takes an owner's reference out of, or puts it into, an object. Failure is left to the next look.
void disown(Api& api, const ObjectPtr& object, const std::string& owner_uid);
void adopt(Api& api, const ObjectPtr& object, const StoredObject& owner);

}  // namespace stowage::local
