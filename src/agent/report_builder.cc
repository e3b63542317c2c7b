#include "agent/report_builder.h"

#include <cstdlib>

namespace stowage::agent {
namespace {

std::string name_of(const codec::ReportedPod& pod) { return pod.ns + '/' + pod.name; }

bool far(const std::optional<std::int32_t>& a, const std::optional<std::int32_t>& b,
         std::int32_t step) {
  if (a.has_value() != b.has_value()) return true;
  return a && std::abs(std::int64_t{*a} - *b) >= step;
}

}  // namespace

bool ReportBuilder::set_cards(std::vector<codec::ReportedCard> cards) {
  if (cards_ == cards) return false;
  cards_ = std::move(cards);
  cards_told_ = false;
  return true;
}

bool ReportBuilder::set_plugin(codec::ReportedPlugin plugin) {
  if (plugin_ == plugin) return false;
  plugin_ = std::move(plugin);
  plugin_told_ = false;
  return true;
}

void ReportBuilder::set_load(const std::vector<codec::ReportedLoad>& load) {
  std::map<std::int32_t, Load> now;
  for (const codec::ReportedLoad& each : load) {
    Load& kept = now[each.card];
    const auto before = load_.find(each.card);
    if (before != load_.end()) kept = before->second;
    kept.now = each;
  }
  load_ = std::move(now);
}

void ReportBuilder::set_pods(std::vector<codec::ReportedPod> pods) {
  pods_known_ = true;
  all_pods_told_ = false;
  pods_changed_.clear();
  pods_.clear();
  for (codec::ReportedPod& pod : pods) {
    std::string name = name_of(pod);
    pods_.insert_or_assign(std::move(name), std::move(pod));
  }
}

bool ReportBuilder::change_pods(std::vector<codec::ReportedPod> now,
                                const std::vector<std::string>& gone) {
  for (const std::string& name : gone) {
    if (pods_.erase(name) > 0) pods_changed_.insert(name);
  }
  for (codec::ReportedPod& pod : now) {
    const std::string name = name_of(pod);
    pods_changed_.insert(name);
    pods_.insert_or_assign(name, std::move(pod));
  }
  return !pods_changed_.empty();
}

void ReportBuilder::start_over() {
  hello_told_ = cards_told_ = all_pods_told_ = plugin_told_ = false;
  for (auto& [card, load] : load_) load.told.reset();
}

bool ReportBuilder::is_news(const Load& load) const {
  if (!load.told || load.beats >= options_.load_beats_most) return true;
  return far(load.now.busy_permille, load.told->busy_permille, options_.busy_step_permille) ||
         far(load.now.memory_mib, load.told->memory_mib, options_.memory_step_mib);
}

codec::AgentReport ReportBuilder::next() {
  codec::AgentReport report;
  if (!std::exchange(hello_told_, true)) {
    report.version = codec::kReportVersion;
    report.node = options_.node;
    report.agent = options_.agent;
  }
  if (cards_ && !std::exchange(cards_told_, true)) report.cards = cards_;
  if (plugin_ && !std::exchange(plugin_told_, true)) report.plugin = plugin_;
  for (auto& [card, load] : load_) {
    ++load.beats;
    if (!is_news(load)) continue;
    load.told = load.now;
    load.beats = 0;
    report.load.push_back(load.now);
  }
  put_pods(report);
  return report;
}

void ReportBuilder::put_pods(codec::AgentReport& report) {
  if (!pods_known_) return;
  if (!std::exchange(all_pods_told_, true)) {
    report.pods.emplace().all = true;
    for (const auto& [name, pod] : pods_) report.pods->now.push_back(pod);
  } else if (!pods_changed_.empty()) {
    report.pods.emplace();
    for (const std::string& name : pods_changed_) {
      const auto found = pods_.find(name);
      if (found != pods_.end()) {
        report.pods->now.push_back(found->second);
      } else {
        report.pods->gone.push_back(name);
      }
    }
  }
  pods_changed_.clear();
}

}  // namespace stowage::agent
