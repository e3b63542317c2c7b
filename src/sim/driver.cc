#include "sim/driver.h"

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "base/number.h"

namespace stowage::sim {
namespace {

std::string uid_of(std::uint32_t id) { return std::to_string(id); }

std::uint32_t id_of(const std::string& uid) {
  const auto id = base::parse_number<std::uint32_t>(uid);
  STOWAGE_CHECK(id.has_value());
  return *id;
}

}  // namespace

Driver::Driver(core::PolicyOptions options, Refused refused)
    : engine_(std::move(options)), refused_(refused) {}

Status Driver::add_nodes(const std::vector<TraceNode>& nodes,
                         const std::vector<std::uint32_t>& ranks) {
  STOWAGE_CHECK(nodes.size() == ranks.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    STOWAGE_TRY_VOID(settle(core::NodeChanged{to_node_spec(nodes[i], ranks[i])}, base::Instant{}));
  }
  return {};
}

Result<const Driver::Outcome*> Driver::arrive(std::uint32_t id, const TracePod& pod,
                                              base::Instant now) {
  STOWAGE_TRY_VOID(settle(core::PodPending{to_pod_spec(pod, uid_of(id))}, now));
  return &outcome_;
}

std::string Driver::record_arrival(std::uint32_t id, const TracePod& pod) {
  return engine_.record_decision(to_pod_spec(pod, uid_of(id)));
}

Result<const Driver::Outcome*> Driver::depart(std::uint32_t id, base::Instant now) {
  STOWAGE_TRY_VOID(settle(core::PodGone{uid_of(id)}, now));
  return &outcome_;
}

Status Driver::settle(core::Event event, base::Instant now) {
  outcome_.bound.clear();
  outcome_.refused.clear();
  events_.clear();
  events_.push_back(std::move(event));
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const core::Event current = std::move(events_[i]);
    for (core::Command& command : engine_.handle_all(current, now)) {
      if (auto* bind = std::get_if<core::Bind>(&command)) {
        outcome_.bound.push_back(id_of(bind->uid));
        events_.emplace_back(core::BindDone{std::move(bind->uid)});
      } else if (auto* refuse = std::get_if<core::Refuse>(&command)) {
        outcome_.refused.push_back(id_of(refuse->uid));
        if (refused_ == Refused::leave) {
          events_.emplace_back(core::PodGone{std::move(refuse->uid)});
        }
      } else {
        const auto& reject = std::get<core::Reject>(command);
        return fail(fmt::format("the engine rejects {}: {}", reject.subject, reject.why));
      }
    }
  }
  return {};
}

}  // namespace stowage::sim
