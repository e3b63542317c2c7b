#include "controller/apply_reports.h"

namespace stowage::controller {

void apply_reports(const std::vector<reports::NodeNews>& batch, const ReportTimes& times,
                   ReportTarget to) {
  for (const reports::NodeNews& news : batch) {
    if (to.roster.nodes().find(news.node) == nullptr) continue;
    if (news.silent) to.mailbox.put_silence({.node = news.node, .silent = *news.silent});
    to.roster.hear_agent(news.node, news.silent.value_or(false));
    for (const std::string& pod : news.gone) to.roster.kubelet_forgets(news.node, pod);
    for (const auto& pod : news.pods) to.roster.hear_kubelet(news.node, pod.name, pod.word);
    if (!news.load_told) continue;
    const net::Duration age = news.busy.empty() ? net::Duration{0} : times.now - news.measured;
    const net::Duration left = times.load_counts - age;
    to.mailbox.put_load(
        {.node = news.node, .busy = news.busy, .until = {times.engine_now.ns + left.count()}});
  }
}

void forget_reports(const std::string& node, ReportTarget to) {
  to.roster.kubelet_forgets(node);
  to.mailbox.put_silence({.node = node, .silent = false});
}

}  // namespace stowage::controller
