// A recorded experiment: the order of the nodes and the pods that arrive, so that a published run
// can be repeated exactly.
//
//   1213                   number of nodes
//   openb-node-0000 601    per node: name and rank; ties between equal scores go to the lower rank
//   ...
//   10866                  number of pods that arrive
//   7197                   per pod: its row in the pod file, counted from 0
//   ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/trace.h"

namespace stowage::sim {

struct Sequence {
  std::vector<std::uint32_t> ranks;     // by node of the trace; a permutation
  std::vector<std::uint32_t> arrivals;  // rows of the pod file, in order of arrival
};

// The file must name every node of the trace exactly once, and only existing rows of the trace.
[[nodiscard]] Result<Sequence> read_sequence(const std::string& path, const Trace& trace);
[[nodiscard]] Result<Sequence> parse_sequence(std::string_view file, std::string_view text,
                                              const Trace& trace);

// The number after the last underscore of the file's name: 42 for "a/default_42.txt".
[[nodiscard]] std::optional<std::uint64_t> seed_in_name(std::string_view path);

}  // namespace stowage::sim
