// What an agent reads about its node's pods and processes: container ids and control groups.
#include "agent/cgroup.h"
#include "codec/container_ids.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto ids = codec::read_container_ids(input);
  (void)good(ids);
  STOWAGE_CHECK(same(ids, codec::read_container_ids(input)));
  const auto owner = agent::read_cgroup(input);
  if (!owner) return;
  STOWAGE_CHECK(owner->container.size() == 64 && owner->pod.size() >= 32);
  // The ids in the result can be found again.
  const std::string text = "0::/kubepods/pod" + owner->pod + "/" + owner->container + "\n";
  STOWAGE_CHECK(agent::read_cgroup(text) == owner);
}

}  // namespace stowage::fuzz
