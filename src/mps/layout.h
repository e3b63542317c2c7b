// The folder that the MPS daemons and the agents share, below one root (/run/stowage/mps):
//
//   <card id>/pipe/    the daemon's sockets; containers with a share of the card see this folder
//   <card id>/log/     control.log, server.log
//   <card id>/state    one line of JSON, written again every few seconds while the daemon runs
#pragma once

#include <string>
#include <string_view>

namespace stowage::mps {

inline constexpr const char* kDefaultRoot = "/run/stowage/mps";

// Ids of cards become names of folders.
[[nodiscard]] bool usable_as_name(std::string_view card_id);

struct CardFolder {
  std::string path;
  [[nodiscard]] std::string pipe() const { return path + "/pipe"; }
  [[nodiscard]] std::string log() const { return path + "/log"; }
  [[nodiscard]] std::string state() const { return path + "/state"; }
};
// Requires: usable_as_name(card_id).
[[nodiscard]] CardFolder folder_of(const std::string& root, const std::string& card_id);

}  // namespace stowage::mps
