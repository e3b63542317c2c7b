#include "scheduler/profile.h"

#include "base/check.h"

namespace stowage::scheduler {
namespace {

Profile make(std::string name, std::string_view policy) {
  auto choice = core::parse_policy(policy);
  STOWAGE_CHECK(choice.has_value());
  Profile profile{.name = std::move(name)};
  profile.policy.choice = *choice;
  return profile;
}

}  // namespace

std::vector<Profile> built_in_profiles() {
  std::vector<Profile> profiles{
      make("stowage", "dual-price"),         make("toyscheduler", "most-used"),
      make("alnair-cost-saving", "binpack"), make("alnair-high-performance", "spread"),
      make("gpu-scheduler", "tightest"),
  };
  return profiles;
}

}  // namespace stowage::scheduler
