#include "agent/usage.h"

#include <map>
#include <utility>

namespace stowage::agent {

std::vector<Usage> usage_of(const std::vector<gpu::CardSample>& samples,
                            const ProcessOwner& owner) {
  std::map<std::pair<ContainerName, std::string>, Usage> sums;
  for (const gpu::CardSample& sample : samples) {
    if (!sample.processes) continue;
    for (const gpu::Process& process : *sample.processes) {
      const ContainerName* known = owner(process.pid);
      const ContainerName who = known == nullptr ? ContainerName{} : *known;
      Usage& sum = sums[{who, sample.id}];
      sum.who = who;
      sum.card = sample.id;
      sum.memory_mib += process.memory_mib.value_or(0);
      ++sum.processes;
    }
  }
  std::vector<Usage> usage;
  for (auto& [key, sum] : sums) usage.push_back(std::move(sum));
  return usage;
}

}  // namespace stowage::agent
