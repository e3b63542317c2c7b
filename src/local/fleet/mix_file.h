// Reads a file that lists groups of nodes:
//
//   nodes:
//     - count: 4
//       name: training        # default: node
//       gpus: 8
//       model: A100-80GB      # see catalogue.h, or NAME:MiB
//       cpu: 128              # cores; default by the number of cards
//       memory: 1Ti           # default by the number of cards
//       labels: {pool: training}
//       taints: [{key: dedicated, value: training, effect: NoSchedule}]
//
// Strict: an unknown or repeated key, a wrong type or an absurd number is an error that names file,
// line and key.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "local/fleet/fleet.h"

namespace stowage::local {

[[nodiscard]] Result<std::vector<NodeGroup>> parse_mix(const std::string& file,
                                                       const std::string& text);
[[nodiscard]] Result<std::vector<NodeGroup>> read_mix_file(const std::string& file);

// All keys of such a file: "nodes[].count".
[[nodiscard]] std::vector<std::string> mix_file_keys();

}  // namespace stowage::local
