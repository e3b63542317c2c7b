// What a leader writes beside its lease, for the other replicas: where its extenders are, and where
// agents report.
//   {"version":1,"extenders":{"stowage":"http://10.0.0.7:10361"},"agents":"https://10.0.0.7:10362"}
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

inline constexpr const char* kLeaderAnnotation = "stowage.dev/leader";

struct LeaderNote {
  std::map<std::string, std::string> extenders;  // URLs by the extender's name
  std::string agents;                            // a URL; empty: nowhere
  friend bool operator==(const LeaderNote&, const LeaderNote&) = default;
};
[[nodiscard]] std::string leader_note(const LeaderNote& note);
// An error also for a version that is not known here. Fields that are not known are passed over.
[[nodiscard]] Result<LeaderNote> read_leader_note(std::string_view json);

}  // namespace stowage::codec
