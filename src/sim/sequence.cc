#include "sim/sequence.h"

#include <filesystem>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/file.h"
#include "base/number.h"
#include "sim/text.h"

namespace stowage::sim {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

// The lines of the file, one after the other.
class Lines {
 public:
  Lines(std::string_view file, std::string_view text) : file_(file), lines_(split_lines(text)) {}

  [[nodiscard]] Result<std::string_view> next(std::string_view wanted) {
    if (at_ == lines_.size()) {
      return fail(fmt::format("{}: the file ends after line {}: expected {}", file_, at_, wanted));
    }
    return lines_[at_++];
  }
  [[nodiscard]] Result<std::int64_t> next_whole(std::string_view what, WholeRange range) {
    STOWAGE_TRY(text, next(what));
    return parse_whole(place(what), text, range);
  }
  // Of the last line that next() returned.
  [[nodiscard]] Place place(std::string_view what) const { return {file_, at_, what}; }
  [[nodiscard]] Status end() const {
    if (at_ == lines_.size()) return {};
    return fail(fmt::format("{}:{}: {} comes after the last pod: expected the end of the file",
                            file_, at_ + 1, in_quotes(lines_[at_])));
  }

 private:
  std::string_view file_;
  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

auto fail_at(const Place& place, std::string_view value, std::string_view why) {
  return fail(fmt::format("{}:{}: {} is {}: {}", place.file, place.line, place.what,
                          in_quotes(value), why));
}

Result<std::vector<std::uint32_t>> read_ranks(Lines& lines, const Trace& trace) {
  const auto count = static_cast<std::int64_t>(trace.nodes.size());
  STOWAGE_TRY(stated, lines.next_whole("the number of nodes", {0, kNoRank}));
  if (stated != count) {
    return fail_at(lines.place("the number of nodes"), std::to_string(stated),
                   fmt::format("the node file has {}", count));
  }
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) index_of.emplace(trace.nodes[i].name, i);
  std::vector<std::uint32_t> ranks(trace.nodes.size(), kNoRank);
  std::vector<bool> taken(trace.nodes.size(), false);
  for (std::int64_t i = 0; i < count; ++i) {
    STOWAGE_TRY(line, lines.next("a node's name and rank"));
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      return fail_at(lines.place("the line"), line, "expected a node's name, a blank and its rank");
    }
    const std::string_view name = line.substr(0, blank);
    const auto known = index_of.find(name);
    if (known == index_of.end()) {
      return fail_at(lines.place("the node"), name, "the node file does not have it");
    }
    const std::string_view rank_text = line.substr(blank + 1);
    STOWAGE_TRY(rank, parse_whole(lines.place("the rank"), rank_text, {0, count - 1}));
    if (ranks[known->second] != kNoRank) {
      return fail_at(lines.place("the node"), name, "it has a rank already");
    }
    if (taken[static_cast<std::size_t>(rank)]) {
      return fail_at(lines.place("the rank"), rank_text, "another node has it already");
    }
    taken[static_cast<std::size_t>(rank)] = true;
    ranks[known->second] = static_cast<std::uint32_t>(rank);
  }
  return ranks;
}

}  // namespace

Result<Sequence> parse_sequence(std::string_view file, std::string_view text, const Trace& trace) {
  constexpr WholeRange kPodsRange{1, 100'000'000};
  Lines lines(file, text);
  Sequence sequence;
  STOWAGE_TRY_ASSIGN(sequence.ranks, read_ranks(lines, trace));
  STOWAGE_TRY(count, lines.next_whole("the number of pods", kPodsRange));
  const WholeRange rows{0, static_cast<std::int64_t>(trace.pods.size()) - 1};
  for (std::int64_t i = 0; i < count; ++i) {
    STOWAGE_TRY(row, lines.next_whole("the row of a pod", rows));
    sequence.arrivals.push_back(static_cast<std::uint32_t>(row));
  }
  STOWAGE_TRY_VOID(lines.end());
  return sequence;
}

Result<Sequence> read_sequence(const std::string& path, const Trace& trace) {
  STOWAGE_TRY(text, base::read_file(path, kInputBytesMax));
  return parse_sequence(path, text, trace);
}

std::optional<std::uint64_t> seed_in_name(std::string_view path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t underscore = stem.rfind('_');
  if (underscore == std::string::npos) return std::nullopt;
  return base::parse_number<std::uint64_t>(std::string_view(stem).substr(underscore + 1));
}

}  // namespace stowage::sim
