// Deliberate errors of a controller: the simulation has to find each of them. They are injected
// from outside, at the interfaces between the modules; the code of the controller does not contain
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/event.h"
#include "wire.h"

namespace stowage::faults {

enum class Defect : std::uint8_t {
  none,
  no_reservation,
  early_release,
  lost_reply_is_failure,
  dropped_event,
  forgotten_rollback,
  forgotten_end,
  others_unseen,
  no_fence,
  goes_on,
  impatient_candidate,
  stale_list,
  quota_ignored,
  node_stays,
  cards_stay,
  hold_not_kept,
  pre_allocation_unseen,
  ledger_sum,
  quota_sum,
  by_number,
  position_for_id,
  believes_unsigned,
};

struct DefectInfo {
  Defect defect;
  std::string_view name;
  std::string_view what;
};
[[nodiscard]] std::span<const DefectInfo> all_defects();
[[nodiscard]] std::optional<Defect> defect_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Defect defect);

// What a planted defect can do in the replica: send events to its engine, now or later, and read
// the ids of a node's cards as the API lists them now.
struct DefectDeps {
  std::function<void(core::Event, Duration)> tell_engine;
  std::function<std::vector<std::string>(const std::string& node)> inventory;
};
[[nodiscard]] WireDefects wire_defects(Defect defect, const DefectDeps& ends);

// Which events reach the engine, and how; empty: all, unchanged.
[[nodiscard]] std::function<bool(const core::Event&)> event_filter(Defect defect);

// The uid of a binding; empty if the request is not a binding.
[[nodiscard]] std::string bound_uid(const net::HttpRequest& request);

}  // namespace stowage::faults
