#include "core/affinity/counter_cache.h"

#include <algorithm>
#include <utility>

namespace stowage::core {

void CounterCache::start_round() {
  ++round_;
  if (counters_.size() > kMaxCounters || bytes_ > kMaxBytes) evict();
}

void CounterCache::make_key(const Request& request) {
  key_.clear();
  if (request.shared_terms) {
    key_ += 'L' + std::to_string(request.shared_terms->number);
  } else {
    key_ += 'T';
    for (const PodTerm& term : request.terms) append_key(term, key_);
  }
  key_ += '@' + std::to_string(request.topology_key.size()) + ':';
  key_ += request.topology_key;
  key_ += request.skip_leaving ? 's' : 'a';
  if (request.eligible) key_ += std::to_string(request.eligible->number());
}

TopologyCounter CounterCache::make_counter(const Request& request) {
  TopologyCounter::Criteria criteria{.terms = request.shared_terms,
                                     .eligible = request.eligible,
                                     .skip_leaving = request.skip_leaving};
  if (!criteria.terms) {
    criteria.terms =
        std::make_shared<TermList>(TermList{.all = {request.terms.begin(), request.terms.end()}});
  }
  criteria.topology = sources_.domains.acquire(std::string(request.topology_key));
  return {sources_, std::move(criteria)};
}

const TopologyCounter& CounterCache::get(const Request& request) {
  make_key(request);
  auto found = counters_.find(key_);
  if (found == counters_.end()) {
    found = counters_.emplace(key_, Entry{.counter = make_counter(request)}).first;
  }
  Entry& entry = found->second;
  entry.used_in = round_;
  entry.counter.update();
  bytes_ -= entry.bytes;
  entry.bytes = sizeof(Entry) + 2 * found->first.capacity() + entry.counter.bytes();
  bytes_ += entry.bytes;
  return entry.counter;
}

void CounterCache::evict() {
  std::vector<std::pair<std::uint64_t, const std::string*>> by_use;
  for (const auto& [key, entry] : counters_) by_use.emplace_back(entry.used_in, &key);
  std::sort(by_use.begin(), by_use.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [used_in, key] : by_use) {
    if (counters_.size() <= kMaxCounters / 2 && bytes_ <= kMaxBytes / 2) break;
    const auto found = counters_.find(*key);
    bytes_ -= found->second.bytes;
    sources_.domains.release(found->second.counter.topology());
    counters_.erase(found);
  }
  criteria_.free_unused();
}

void CounterCache::forget_sets() {
  for (auto& [key, entry] : counters_) entry.counter.forget_sets();
}

std::vector<std::string> CounterCache::audit() {
  std::vector<std::string> out;
  for (auto& [key, entry] : counters_) {
    entry.counter.update();
    if (!entry.counter.verify()) out.push_back("a counter is wrong: " + key);
  }
  return out;
}

}  // namespace stowage::core
