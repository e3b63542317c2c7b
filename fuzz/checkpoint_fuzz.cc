// The kubelet's checkpoint of devices: only wanted entries, complete and sorted.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "plugin/checkpoint.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const std::set<std::string> wanted{"stowage.dev/attachment", "stowage.dev/init-attachment"};
  const auto read = plugin::read_checkpoint(input, wanted);
  STOWAGE_CHECK(same(read, plugin::read_checkpoint(input, wanted)));
  if (!good(read)) return;
  STOWAGE_CHECK(read->entries.size() <= plugin::kCheckpointEntriesMax);
  for (const plugin::CheckpointEntry& entry : read->entries) {
    STOWAGE_CHECK(wanted.count(entry.resource) == 1);
    STOWAGE_CHECK(!entry.pod_uid.empty() && !entry.container.empty());
    STOWAGE_CHECK(read->pods.count(entry.pod_uid) == 1);
    STOWAGE_CHECK(std::adjacent_find(entry.ids.begin(), entry.ids.end(), std::greater_equal<>()) ==
                  entry.ids.end());
  }
}

}  // namespace stowage::fuzz
