// Reports of agents for tests, and a clock that stands still.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "codec/agent_report.h"
#include "metricsapi/objects.h"
#include "reports/report_cache.h"

namespace stowage::metricsapi::testing {

inline codec::ReportedCard card(std::string id, std::int32_t index, std::string model) {
  return {.id = std::move(id),
          .index = index,
          .model = std::move(model),
          .brand = "Tesla",
          .bus_id = "0000:0" + std::to_string(index) + ":00.0",
          .memory_mib = 16'384};
}

// One container "c" with these devices.
inline codec::ReportedPod pod(std::string ns, std::string name, std::vector<std::string> ids,
                              std::string resource = "nvidia.com/gpu") {
  return {.ns = std::move(ns),
          .name = std::move(name),
          .containers = {{.name = "c", .devices = {{std::move(resource), std::move(ids)}}}}};
}

// A report cache whose clocks the test advances. They begin at 2027-01-15T08:00:00Z.
struct Desk {
  reports::ReportCache report_cache;
  Now now{.steady = net::Moment{std::chrono::hours{1}},
          .unix_nanos = std::int64_t{1'800'000'000} * 1'000'000'000};

  void pass(net::Duration time) {
    now.steady += time;
    now.unix_nanos += time.count();
    report_cache.look(now.steady);
  }
  void update(const std::string& node, codec::AgentReport report = {}) {
    STOWAGE_CHECK(report_cache.update(node, std::move(report), now.steady));
  }
  void cards(const std::string& node, std::vector<codec::ReportedCard> cards) {
    codec::AgentReport report;
    report.cards = std::move(cards);
    update(node, std::move(report));
  }
  void pods(const std::string& node, std::vector<codec::ReportedPod> pods, bool all = false) {
    codec::AgentReport report;
    report.pods = codec::ReportedPods{.all = all, .now = std::move(pods), .gone = {}};
    update(node, std::move(report));
  }
  void gone(const std::string& node, std::vector<std::string> names) {
    codec::AgentReport report;
    report.pods = codec::ReportedPods{.all = false, .now = {}, .gone = std::move(names)};
    update(node, std::move(report));
  }
  void busy(const std::string& node, std::int32_t index, std::int32_t permille) {
    codec::AgentReport report;
    report.load = {{.card = index, .busy_permille = permille}};
    update(node, std::move(report));
  }
};

}  // namespace stowage::metricsapi::testing
