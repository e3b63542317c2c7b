#include "controller/witness.h"

#include <utility>

namespace stowage::controller {

Witness::Witness(net::EventLoop& loop, WitnessOptions options,
                 std::function<scheduler::Scheduler&()> scheduler)
    : loop_(loop), options_(options), scheduler_(std::move(scheduler)) {}

void Witness::take(const std::vector<reports::NodeNews>& parcel) {
  const auto shared = scheduler_().shared();
  const base::Instant now = scheduler::engine_time(loop_);
  const net::Moment moment = loop_.now();
  for (const reports::NodeNews& news : parcel) {
    ++counters_.nodes;
    shared.mailbox.put_silence({.node = news.node, .silent = news.silent});
    shared.roster.hear_agent(news.node, news.silent);
    for (const std::string& pod : news.gone) shared.roster.kubelet_forgets(news.node, pod);
    for (const auto& pod : news.pods) {
      ++counters_.pods;
      shared.roster.hear_kubelet(news.node, pod.name, pod.word);
    }
    if (!news.load_told) continue;
    ++counters_.loads;
    const net::Duration age = news.busy.empty() ? net::Duration{0} : moment - news.measured;
    const net::Duration left = options_.load_counts - age;
    shared.mailbox.put_load(
        {.node = news.node, .busy = news.busy, .until = {now.ns + left.count()}});
  }
}

}  // namespace stowage::controller
