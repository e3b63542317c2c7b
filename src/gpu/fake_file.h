// Cards that exist only in a file, for machines without any: demos, tests, other people's clusters.
//
//   driver: 550.54.15            # default: "fake"
//   driverLife: 1                # another number: as if the driver had been unloaded in between
//   count: 8                     # cards with the indices 0 to 7, ids made from the node's name
//   model: NVIDIA H100 80GB HBM3 # of all cards that have none of their own
//   brand: NVIDIA                # the same
//   memoryMiB: 81559             # the same; 0 or absent: unknown
//   nvlinks: 18                  # between each two cards that are not divided
//   links: [[0, 1, 200]]         # or these: indices of two cards, and the sum of their links
//   cards:                       # more about cards of `count`, or further ones
//   - index: 3
//     id: GPU-5f0a...            # default: made up
//     model, brand, memoryMiB    # as above
//     busId: "00000000:1B:00.0"  # default: made up
//     minor: 3                   # default: the index
//     numa: 1
//     exclusive: true            # compute mode: one process at a time
//     absent: true               # as if it had been removed
//     lost: true                 # as if it had fallen off the bus
//     utilisation: 72.5          # percent; absent values are unset in the samples
//     memoryUsedMiB: 40000
//     powerWatts: 512.3
//     temperatureC: 61
//     eccUncorrected: 0
//     rowRemapFailed: false
//     needsReset: false
//     processes: [{pid: 4711, memoryMiB: 40000}]
//     faults: [{xid: 79}, {kind: ecc_uncorrected, text: in a test}]
//     mig:                       # divided: then only these are cards
//     - {profile: 1g.10gb, memoryMiB: 9984, gpuInstance: 7, computeInstance: 0}
//
// An instance may have its own `id`, `memoryUsedMiB`, `processes` and `faults`. Failures of the
// card (`lost`, errors) apply to its instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/source.h"
#include "yaml/strict_map.h"

namespace stowage::gpu {

struct FakeCards {
  Inventory inventory;
  std::vector<CardSample> samples;  // of each card in the inventory that answers
  std::vector<Fault> faults;        // all faults in the file, and one for each lost card
  friend bool operator==(const FakeCards&, const FakeCards&) = default;
};

// Errors name the file, the line and the key. Ids are made from the name `node`.
[[nodiscard]] Result<FakeCards> parse_fake_cards(std::string_view text, const std::string& file,
                                                 const std::string& node);
// All keys of such a file.
[[nodiscard]] std::vector<yaml::StrictMap::Key> fake_cards_keys();

// "GPU-xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx": equal for equal arguments, different for others.
[[nodiscard]] std::string made_up_id(std::string_view prefix, std::string_view words);

}  // namespace stowage::gpu
