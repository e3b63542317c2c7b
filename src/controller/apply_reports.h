// Gives the ledger at work what the agents tell: who has which card, how busy cards are, and which
// agents are silent. Runs on the controller's loop.
//
// A batch may be under way while its node is deleted: reports on nodes that the roster does not
// know are dropped. The hub sends them again when the node appears (Hub::see_cards).
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "net/event_loop.h"
#include "reports/digest.h"
#include "scheduler/mailbox.h"
#include "scheduler/roster.h"

namespace stowage::controller {

struct ReportTarget {
  scheduler::Roster& roster;
  scheduler::Mailbox& mailbox;
};

struct ReportTimes {
  base::Instant engine_now;
  net::Moment now;
  net::Duration load_counts;  // since it was measured
};

void apply_reports(const std::vector<reports::NodeNews>& batch, const ReportTimes& times,
                   ReportTarget to);

// The cluster has the node no more. The engine forgets its load by itself.
void forget_reports(const std::string& node, ReportTarget to);

}  // namespace stowage::controller
