#include "core/affinity/domain_counts.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/testing/random.h"

namespace stowage::core {
namespace {

TEST(DomainCounts, CountsAsAnArrayDoes) {
  constexpr std::size_t kDomains = 100;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::Dice dice(seed);
    // Few domains in use stay a list; many become an array.
    const std::size_t used = seed % 2 == 0 ? 5 : kDomains;
    DomainCounts counts;
    counts.reset(kDomains);
    std::vector<std::int32_t> expected(kDomains, 0);
    for (int step = 0; step < 200; ++step) {
      const std::size_t domain = dice.below(used);
      const std::int32_t delta = expected[domain] > 0 && dice.one_in(2) ? -1 : 1;
      expected[domain] += delta;
      counts.add(DomainIndex(domain), delta);
      for (std::size_t d = 0; d < kDomains; ++d) {
        ASSERT_EQ(counts.count(DomainIndex(d)), expected[d]) << seed << " " << step << " " << d;
      }
    }
  }
}

TEST(DomainCounts, ResetForgetsEverything) {
  DomainCounts counts;
  for (const std::size_t domains : {2U, 1000U}) {  // an array, and a list
    counts.reset(domains);
    counts.add(DomainIndex(1U), 3);
    EXPECT_EQ(counts.count(DomainIndex(1U)), 3);
    counts.reset(domains);
    EXPECT_EQ(counts.count(DomainIndex(1U)), 0);
  }
}

}  // namespace
}  // namespace stowage::core
