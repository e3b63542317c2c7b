// Builds the agent's reports to the controller: the state of the node, completely once and then as
// changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/agent_report.h"

namespace stowage::agent {

struct ReportBuilderOptions {
  std::string node;
  std::string agent;  // version of the agent
  // Smaller changes of a card's load are sent with the next larger one, or after this many reports.
  std::int32_t busy_step_permille = 10;
  std::int32_t memory_step_mib = 64;
  std::int32_t load_beats_most = 10;
};

class ReportBuilder {
 public:
  explicit ReportBuilder(ReportBuilderOptions options) : options_(std::move(options)) {}

  // Those that return a bool return true if the next report has an urgent change.
  bool set_cards(std::vector<codec::ReportedCard> cards);
  void set_load(const std::vector<codec::ReportedLoad>& load);
  // All pods that have devices on this node; always an urgent change.
  void set_pods(std::vector<codec::ReportedPod> pods);
  bool set_plugin(codec::ReportedPlugin plugin);
  bool change_pods(std::vector<codec::ReportedPod> now, const std::vector<std::string>& gone);

  // The next report goes to a reader that knows nothing: it has everything.
  void start_over();
  // What has changed since the last report, perhaps nothing.
  [[nodiscard]] codec::AgentReport next();

 private:
  struct Load {
    codec::ReportedLoad now;
    std::optional<codec::ReportedLoad> told;
    std::int32_t beats = 0;  // since it was sent
  };
  [[nodiscard]] bool is_news(const Load& load) const;
  void put_pods(codec::AgentReport& report);

  ReportBuilderOptions options_;
  std::optional<std::vector<codec::ReportedCard>> cards_;
  bool hello_told_ = false;
  bool cards_told_ = false;
  std::optional<codec::ReportedPlugin> plugin_;
  bool plugin_told_ = false;
  std::map<std::int32_t, Load> load_;
  std::map<std::string, codec::ReportedPod> pods_;
  bool pods_known_ = false;
  bool all_pods_told_ = false;
  std::set<std::string> pods_changed_;  // or deleted
};

}  // namespace stowage::agent
