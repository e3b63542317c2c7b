// The ledger's record of a charged pod: its node, its resources, its charges on cards, and the
// known limits where its cards are unknown. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ledger/names.h"
#include "core/model/ids.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/place/footprint.h"

namespace stowage::core {

enum class PodState : std::uint8_t {
  reserved,
  bound,
  bound_cards_unknown,
  nomination,  // not a pod: capacity kept for a pod that waits for more of it (keep_capacity)
};

// A charge on a card that its node does not report, with the last known data of the card.
struct LostCharge {
  std::string id;     // empty: unknown
  bool seen = false;  // the node has reported the card, so model and memory_mib are known
  std::string model;
  std::int32_t memory_mib = 0;  // of the card
  CardCharge charge;            // its position is always 0
  friend bool operator==(const LostCharge&, const LostCharge&) = default;
};

// A container's request for cards, if it is unknown which cards it has.
struct UnnamedRequest {
  Phase phase = Phase::app;
  std::int32_t count = 0;
  std::optional<std::int32_t> milli;  // these two as in GpuRequest
  std::optional<std::int32_t> memory_mib;

  [[nodiscard]] bool whole() const {
    return GpuRequest{.milli = milli, .memory_mib = memory_mib}.whole();
  }
  friend bool operator==(const UnnamedRequest&, const UnnamedRequest&) = default;
};

// What a pod may use of a node's cards if it is unknown which ones. Containers count by their phase
// (see footprint.h).
struct UnnamedUse {
  CardCharge most;  // most that its shares may take of any single card
  std::int32_t with_core =
      0;  // part of most.milli: shares whose memory is proportional to their compute
  std::int32_t shared = 0;        // cards that it has a share of
  std::int32_t shared_milli = 0;  // sum over all of them
  std::int32_t whole = 0;         // whole cards
  friend bool operator==(const UnnamedUse&, const UnnamedUse&) = default;
};
[[nodiscard]] UnnamedUse unnamed_use(const std::vector<UnnamedRequest>& asks);
[[nodiscard]] std::vector<UnnamedRequest> unnamed_asks(const PodSpec& pod);

// All that the ledger knows about one pod.
struct PodRecord {
  std::string uid;
  std::string name;
  NodeIndex node;
  PodState state = PodState::reserved;
  std::int32_t priority = 0;
  bool leaving = false;  // these three as in PodSpec
  bool stays = false;
  std::int64_t since = 0;
  std::int64_t placed = 0;  // these two as in PodSeenBound
  bool placed_by_then = false;
  bool by_kubelet = false;  // its cards were named by name_cards()
  Resources resources;
  std::vector<CardCharge> charges;  // on cards that the node reports
  // On cards that disappeared or are not reported yet, by card id.
  std::vector<LostCharge> orphans;
  // Set while its cards are unknown.
  std::vector<UnnamedRequest> asks;
  // From `asks`, and from the `orphans` whose cards may be among the reported ones.
  UnnamedUse unnamed;
  // A nomination whose cards must be named. A single unnamed card would make all of them uncertain.
  bool by_name = false;

  [[nodiscard]] bool cards_known() const { return asks.empty(); }
};
// The pod's charges besides cards. If there are many extended resources, only those that nodes
// offer.
[[nodiscard]] Resources kept_resources(const PodSpec& pod, const ResourceNames& names);
// Charges the record for the pod's requests with unknown cards.
void take_unnamed(const PodSpec& pod, PodRecord& record);
// True if the card that disappeared may be one of those that the node reports.
[[nodiscard]] bool may_be_shown(const LostCharge& lost, const NodeSpec& node);
// The correct PodRecord::unnamed on this node.
[[nodiscard]] UnnamedUse unnamed_use(const PodRecord& record, const NodeSpec& node);

// Charges by position, separated from those on cards that the node does not report. Positions after
// its last card refer to `absent`.
struct SeenCards {
  std::vector<CardCharge> charges;
  std::vector<LostCharge> orphans;  // by id
};
[[nodiscard]] SeenCards seen_cards(const std::vector<CardCharge>& all, const NodeSpec& node,
                                   std::span<const std::string> absent);
// True for the same charges on the same cards, regardless of other data about the cards.
[[nodiscard]] bool same_orphans(const PodRecord& record, const std::vector<LostCharge>& orphans);

}  // namespace stowage::core
