// The topology counters that were used lately, within a budget of bytes: when it is spent, the
// least recently used ones are removed until half of it is free. A removed counter that is needed
// again counts from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/affinity/counter_criteria.h"
#include "core/affinity/topology_counter.h"
#include "core/model/pod_constraints.h"

namespace stowage::core {

class CounterCache {
 public:
  static constexpr std::size_t kMaxCounters = 1024;
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;

  explicit CounterCache(const TopologyCounter::Sources& sources) : sources_(sources) {}
  CounterCache(const CounterCache&) = delete;
  CounterCache& operator=(const CounterCache&) = delete;

  struct Request {
    // A pod counts if all of these select it. With `shared_terms` that list is used instead.
    std::span<const PodTerm> terms;
    std::shared_ptr<const TermList> shared_terms;
    std::string_view topology_key;
    bool skip_leaving = false;
    std::shared_ptr<EligibleNodes> eligible;  // null: all nodes
  };
  // Starts the requests of one pod. Evicts counters if the budget is spent, and only then: all
  // that get() returns stays valid until the next call.
  void start_round();
  // The counter for these criteria, up to date.
  const TopologyCounter& get(const Request& request);
  [[nodiscard]] SharedCriteria& criteria() { return criteria_; }

  // Requires: called whenever sets are freed.
  void forget_sets();

  [[nodiscard]] std::size_t size() const { return counters_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t shared() const { return criteria_.size(); }
  // Recounts everything; one line per difference.
  [[nodiscard]] std::vector<std::string> audit();

 private:
  struct Entry {
    TopologyCounter counter;
    std::uint64_t used_in = 0;  // round
    std::size_t bytes = 0;      // as of the last get()
  };
  void make_key(const Request& request);
  [[nodiscard]] TopologyCounter make_counter(const Request& request);
  void evict();

  TopologyCounter::Sources sources_;
  SharedCriteria criteria_;
  std::map<std::string, Entry> counters_;
  std::size_t bytes_ = 0;
  std::uint64_t round_ = 0;
  std::string key_;  // scratch, written by make_key()
};

}  // namespace stowage::core
