#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace stowage::base {
namespace {

constexpr std::size_t kLongest = 256;

// Characters that are inserted, removed or replaced, and adjacent characters that are swapped.
std::size_t edits_between(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> rows(3 * width);
  std::size_t* row = rows.data();
  std::size_t* above = row + width;
  std::size_t* two_above = above + width;
  std::iota(row, above, std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, row[j - 1] + 1, above[j] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  if (word.size() > kLongest) return best;
  std::size_t best_edits = (word.size() < 4 ? 1 : word.size() < 12 ? 2 : 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t apart = candidate.size() < word.size() ? word.size() - candidate.size()
                                                             : candidate.size() - word.size();
    if (candidate.size() > kLongest || apart >= best_edits) continue;
    const std::size_t edits = edits_between(word, candidate);
    if (edits >= best_edits) continue;
    best = candidate;
    best_edits = edits;
  }
  return best;
}

}  // namespace stowage::base
