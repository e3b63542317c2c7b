// What limits a container to its part of a card, and what is added to it for that.
//
//   none      nothing: other programs on the card are not protected from it
//   mps-open  MPS: limits of each process, which a program can leave by not using MPS
//   mps       the same on a card that takes no process beside MPS (compute mode EXCLUSIVE_PROCESS)
//   mig       an instance of a card that is divided in hardware
//   whole     the container has all of its cards
//
// docs/isolation.md says what each of them holds against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/cdi.h"

namespace stowage::plugin {

enum class Isolation : std::uint8_t { none, mps_open, mps, mig, whole };
[[nodiscard]] std::string_view to_string(Isolation isolation);
inline constexpr Isolation kIsolations[] = {Isolation::none, Isolation::mps_open, Isolation::mps,
                                            Isolation::mig, Isolation::whole};

// What a container has of a card, as decided.
struct CardShare {
  std::string id;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;       // 0: no limit
  std::int32_t card_memory_mib = 0;  // all of the card's; 0: not known
  friend bool operator==(const CardShare&, const CardShare&) = default;
};

// The folder in which the MPS daemons say whether they run (src/mps). Reads files of another
// process.
struct IsolationOptions {
  std::string mps_root;  // empty: shares are not limited
  std::int64_t unix_now = 0;
};

struct IsolationPlan {
  Isolation level = Isolation::none;
  CdiEdits edits;
  friend bool operator==(const IsolationPlan&, const IsolationPlan&) = default;
};

// An error if a share must be limited and cannot be at the moment.
[[nodiscard]] Result<IsolationPlan> plan_isolation(const std::vector<CardShare>& cards,
                                                   const IsolationOptions& options);

}  // namespace stowage::plugin
