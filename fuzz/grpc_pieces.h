// For the fuzzers of both sides of gRPC.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace stowage::fuzz {

// When the output of a session is read.
enum class Answering : bool { at_the_end, all_the_time };

// The first byte is the size of the pieces into which the rest is split. Events must be valid, and
// the same for every split: run(bytes, piece, answering), check(events), check_same(a, b).
template <typename Run, typename Check, typename CheckSame>
void compare_cuts(std::string_view input, const Run& run, const Check& check,
                  const CheckSame& check_same) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 64;
  input.remove_prefix(1);
  const auto whole = run(input, input.size() + 1, Answering::at_the_end);
  const auto cut = run(input, piece, Answering::at_the_end);
  check(whole);
  check(run(input, piece, Answering::all_the_time));
  STOWAGE_CHECK(whole.size() == cut.size());
  for (std::size_t i = 0; i < whole.size(); ++i) check_same(whole[i], cut[i]);
}

}  // namespace stowage::fuzz
