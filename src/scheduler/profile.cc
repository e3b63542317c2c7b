#include "scheduler/profile.h"

#include "base/check.h"
#include "net/address.h"

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

Result<net::Url> parse_picker_url(std::string_view text) {
  STOWAGE_TRY(url, net::parse_url_or_socket(text));
  if (url.tls) {
    return fail(
        "write http:// or unix: for a picker on the same machine; https:// is not supported");
  }
  return url;
}

std::vector<Profile> built_in_profiles() {
  std::vector<Profile> profiles{
      make("stowage", "dual-price"),         make("toyscheduler", "most-used"),
      make("alnair-cost-saving", "binpack"), make("alnair-high-performance", "spread"),
      make("gpu-scheduler", "tightest"),     make("vgpu-scheduler", "first"),
  };
  // As in vgpu-manager: there is no preference unless a pod asks for one, and then it is weighed by
  // the request of the pod.
  profiles.back().policy.profile_weights = true;
  return profiles;
}

}  // namespace stowage::scheduler
