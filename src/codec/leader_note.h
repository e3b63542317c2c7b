// Data that a leader writes next to its lease for the other replicas: the addresses of its
// extenders and of its agent server.
//   {"version":1,"extenders":{"stowage":"http://10.0.0.7:10361"},"agents":"https://10.0.0.7:10362"}
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

inline constexpr const char* kLeaderAnnotation = "stowage.dev/leader";

struct LeaderNote {
  std::map<std::string, std::string> extenders;  // URLs by extender name
  std::string agents;                            // a URL; empty: none
  friend bool operator==(const LeaderNote&, const LeaderNote&) = default;
};
[[nodiscard]] std::string leader_note(const LeaderNote& note);
// An unknown version is an error. Unknown fields are skipped.
[[nodiscard]] Result<LeaderNote> read_leader_note(std::string_view json);

}  // namespace stowage::codec
