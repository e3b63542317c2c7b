#include "sim/typical.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace stowage::sim {
namespace {

constexpr double kPopularity = 0.95;

using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::string>;

}  // namespace

std::vector<core::TypicalPod> typical_pods(const std::vector<TracePod>& pods) {
  std::map<Key, std::int64_t> count_of;
  for (const TracePod& pod : pods) {
    ++count_of[{pod.cpu_milli, pod.gpu_milli, pod.num_gpu, pod.gpu_spec}];
  }
  std::vector<std::pair<Key, std::int64_t>> kinds(count_of.rbegin(), count_of.rend());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });

  const auto all = static_cast<double>(pods.size());
  const double wanted = kPopularity * all;
  std::int64_t covered = 0;
  std::size_t taken = 0;
  while (taken < kinds.size() && static_cast<double>(covered) < wanted) {
    covered += kinds[taken++].second;
  }
  // Two divisions, as published, because scores of the policy depend on the last bit of these
  // numbers.
  const double coverage = static_cast<double>(covered) / all;
  std::vector<core::TypicalPod> typical;
  for (std::size_t i = 0; i < taken; ++i) {
    const auto& [key, count] = kinds[i];
    core::TypicalPod pod;
    pod.cpu_milli = std::get<0>(key);
    pod.milli = std::get<1>(key);
    pod.cards = std::get<2>(key);
    pod.models_any = models_of(std::get<3>(key));
    pod.frequency = static_cast<double>(count) / all / coverage;
    typical.push_back(std::move(pod));
  }
  return typical;
}

}  // namespace stowage::sim
