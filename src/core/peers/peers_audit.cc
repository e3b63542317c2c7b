// What counters share, and a recount of everything.
#include <algorithm>
#include <map>
#include <utility>

#include "core/peers/peers.h"

namespace stowage::core {

// ---- pods by domain -------------------------------------------------------------------------

void DomainCounts::reset(std::size_t domains) {
  domains_ = domains;
  few_.clear();
  dense_ = {};
}

std::int32_t DomainCounts::in_few(std::uint32_t domain) const {
  const auto at = std::lower_bound(few_.begin(), few_.end(), std::pair(domain, INT32_MIN));
  return at != few_.end() && at->first == domain ? at->second : 0;
}

void DomainCounts::add(std::uint32_t domain, std::int32_t pods) {
  constexpr std::size_t kDenseFrom = 16;  // one in so many domains
  if (!dense_.empty()) {
    dense_[domain] += pods;
    return;
  }
  const auto at = std::lower_bound(few_.begin(), few_.end(), std::pair(domain, INT32_MIN));
  if (at != few_.end() && at->first == domain) {
    at->second += pods;
    if (at->second == 0) few_.erase(at);
    return;
  }
  few_.insert(at, {domain, pods});
  if (few_.size() * kDenseFrom < domains_) return;
  dense_.assign(domains_, 0);
  for (const auto& [number, count] : few_) dense_[number] = count;
  few_ = {};
}

// ---- audit ----------------------------------------------------------------------------------

std::vector<std::string> Peers::audit() {
  std::vector<std::string> out;
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::int32_t, std::int32_t>> seen;
  for (const auto& seat : seats_) {
    if (!seat) continue;
    auto& [pods, leaving] = seen[{seat->node.at(), seat->set}];
    ++pods;
    if (seat->leaving) ++leaving;
  }
  for (std::size_t n = 0; n < on_node_.size(); ++n) {
    for (const OnNode& here : on_node_[n]) {
      const auto found = seen.find({n, here.set});
      if (found == seen.end() ||
          found->second != std::pair<std::int32_t, std::int32_t>{here.pods, here.leaving}) {
        out.push_back("pods of a set on node slot " + std::to_string(n) + " are miscounted");
      } else {
        seen.erase(found);
      }
    }
  }
  if (!seen.empty()) out.emplace_back("pods of a set are not counted on their node");
  for (auto& [key, counter] : counters_) {
    catch_up(*counter);
    PeerCounter anew = *counter;
    anew.memo.clear();
    recount(anew);
    if (anew.pods != counter->pods || anew.total != counter->total) {
      out.push_back("a counter is off: " + key);
    }
  }
  return out;
}

}  // namespace stowage::core
