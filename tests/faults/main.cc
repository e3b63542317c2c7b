// The fault simulation: the whole controller with the API in memory, in virtual time.
//
//   stowage_faults --seeds 200 [--first 1] [--jobs 2]   many seeds; exit status 1 if one fails
//   stowage_faults --fresh 100                          seeds that have not been run before
//   stowage_faults --seed 7 [--verbose] [--shrink]      one seed, with a log of what happened
//   stowage_faults --seeds 200 --digests FILE           also writes a digest of all writes per seed
//   stowage_faults --only NAMES | --without NAMES ...   with or without these features (features.h)
//   stowage_faults --defect NAME ...                    the same with a planted defect
//   stowage_faults --self-test                          checks that each planted defect is found
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "defects.h"
#include "plan.h"
#include "runs.h"
#include "simulation.h"

namespace stowage::faults {
namespace {

constexpr int kUsage = 2;
constexpr std::size_t kFailuresShown = 5;
constexpr std::uint64_t kSeedsPerDefect = 200;
constexpr std::uint64_t kRepeated = 10;  // runs that are made twice

struct Arguments {
  std::uint64_t seeds = 200;
  std::uint64_t first = 1;
  std::uint64_t seed = 0;
  std::uint64_t fresh = 0;
  FeatureChoice features;
  std::string digests;        // the file to write them to
  std::string feature_words;  // as given, for the command that replays a run
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  Defect defect = Defect::none;
  bool verbose = false;
  bool shrink = false;
  bool self_test = false;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string replay_command(std::uint64_t seed, const Arguments& arguments) {
  std::string text = fmt::format("stowage_faults --seed {}", seed);
  if (arguments.defect != Defect::none) {
    text += fmt::format(" --defect {}", name_of(arguments.defect));
  }
  return text + arguments.feature_words;
}

// Violations begin with a few words that name their kind.
std::string kind_of(const std::string& violation) {
  return violation.substr(0, violation.find(':'));
}

// Different each time, and outside the seeds of the regression test.
std::uint64_t fresh_seed() {
  std::random_device device;
  constexpr std::uint64_t kFirst = 1'000'000;
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const std::uint64_t drawn = (std::uint64_t{device()} << 32U) ^ device();
  return kFirst + drawn % kMost;
}

void print_small(std::uint64_t seed, const Arguments& arguments) {
  const Plan small = shrink(draw_plan(seed, arguments.features), arguments.defect);
  const Outcome outcome = run_apart(small, arguments.defect);
  print(fmt::format("made small, it fails so: {}\n{}", outcome.violation, to_text(small)));
}

// One line for each seed, by number: equal first digests mean equal calls to the API, to the byte;
// equal second ones, equal calls but for messages, reasons and Events.
bool write_digests(const std::string& path, const std::map<std::uint64_t, Outcome>& outcomes) {
  std::string text;
  for (const auto& [seed, outcome] : outcomes) {
    text += fmt::format("{} {:016x} {:016x} {} {}\n", seed, outcome.digest, outcome.textless,
                        outcome.steps, outcome.violation.empty() ? "passes" : "fails");
  }
  const Status written = base::write_file(path, text);
  if (!written) print(fmt::format("stowage_faults: {}\n", written.error().message));
  return written.has_value();
}

int run_seeds(const Arguments& arguments) {
  const auto begun = std::chrono::steady_clock::now();
  Outcome sum;
  std::uint64_t done = 0;
  std::vector<std::pair<std::uint64_t, std::string>> failures;
  std::map<std::uint64_t, Outcome> outcomes;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;  // how many, first seed
  run_batch({.first = arguments.first,
             .count = arguments.seeds,
             .jobs = arguments.jobs,
             .defect = arguments.defect,
             .features = arguments.features},
            [&](std::uint64_t seed, const Outcome& outcome) {
              ++done;
              if (!arguments.digests.empty()) outcomes.emplace(seed, outcome);
              sum.steps += outcome.steps;
              sum.bound += outcome.bound;
              sum.pre_allocated += outcome.pre_allocated;
              sum.recounts += outcome.recounts;
              sum.takeovers += outcome.takeovers;
              if (!outcome.violation.empty()) {
                failures.emplace_back(seed, outcome.violation);
                auto& [count, first] =
                    kinds.try_emplace(kind_of(outcome.violation), 0, seed).first->second;
                ++count;
                first = std::min(first, seed);
                print(fmt::format("seed {} fails {}\n", seed, outcome.violation));
              }
              return true;
            });
  if (!arguments.digests.empty() && !write_digests(arguments.digests, outcomes)) return kUsage;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  print(
      fmt::format("{} seeds in {:.1f} s: {} fail; {} pieces of work, {} pods bound by replicas, "
                  "{} by pre-allocation, {} takeovers, {} ledgers recounted\n",
                  done, took.count(), failures.size(), sum.steps, sum.bound, sum.pre_allocated,
                  sum.takeovers, sum.recounts));
  for (const auto& [kind, found] : kinds) {
    print(fmt::format("  {:>5} x {} (first: seed {})\n", found.first, kind, found.second));
  }
  std::sort(failures.begin(), failures.end());
  for (std::size_t i = 0; i < failures.size() && i < kFailuresShown; ++i) {
    const auto& [seed, violation] = failures[i];
    print(fmt::format("\nseed {}: {}\nreplay: {} --verbose\n", seed, violation,
                      replay_command(seed, arguments)));
    if (arguments.shrink) print_small(seed, arguments);
  }
  return failures.empty() ? 0 : 1;
}

int run_one(const Arguments& arguments) {
  const Plan plan = draw_plan(arguments.seed, arguments.features);
  RunOptions options;
  options.defect = arguments.defect;
  if (arguments.verbose) {
    print(to_text(plan));
    options.log = [](std::string_view line) {
      std::string text(line);
      if (!text.ends_with('\n')) text += '\n';
      print(text);
    };
  }
  const Outcome outcome = simulate(plan, options);
  print(fmt::format("seed {}: {}\n", arguments.seed,
                    outcome.violation.empty() ? "all is well" : outcome.violation));
  print(fmt::format(
      "{} pieces of work, digest {:016x}, {} pods bound by replicas, {} by pre-allocation, "
      "{} takeovers, {} ledgers recounted\n",
      outcome.steps, outcome.digest, outcome.bound, outcome.pre_allocated, outcome.takeovers,
      outcome.recounts));
  if (outcome.violation.empty()) return 0;
  if (arguments.shrink) print_small(arguments.seed, arguments);
  return 1;
}

// How many seeds it takes to find the defect; 0: not found.
std::uint64_t seeds_to_find(Defect defect, const Arguments& arguments, std::string& how) {
  std::uint64_t found = 0;
  run_batch({.count = kSeedsPerDefect,
             .jobs = arguments.jobs,
             .defect = defect,
             .features = arguments.features},
            [&](std::uint64_t seed, const Outcome& outcome) {
              if (outcome.violation.empty()) return true;
              // A plan that fails without the defect does not show it.
              const Plan plan = draw_plan(seed, arguments.features);
              if (!run_apart(plan, Defect::none).violation.empty()) return true;
              if (found == 0 || seed < found) {
                found = seed;
                how = outcome.violation;
              }
              return false;
            });
  return found;
}

int self_test(const Arguments& arguments) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= kRepeated; ++seed) {
    const Plan plan = draw_plan(seed, arguments.features);
    const Outcome once = run_apart(plan, Defect::none);
    const Outcome again = run_apart(plan, Defect::none);
    if (once.digest == again.digest && once.steps == again.steps) continue;
    print(fmt::format("seed {} does not replay: {:016x} and {:016x}\n", seed, once.digest,
                      again.digest));
    ++wrong;
  }
  for (const DefectInfo& each : all_defects()) {
    if (arguments.defect != Defect::none && each.defect != arguments.defect) continue;
    std::string how;
    const std::uint64_t seeds = seeds_to_find(each.defect, arguments, how);
    if (seeds == 0) ++wrong;
    print(seeds == 0 ? fmt::format("{:<22} NOT FOUND within {} seeds\n", each.name, kSeedsPerDefect)
                     : fmt::format("{:<22} found by seed {:>3}: {}\n", each.name, seeds, how));
  }
  return wrong == 0 ? 0 : 1;
}

bool number(std::string_view text, std::uint64_t& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

bool parse(const std::vector<std::string_view>& words, Arguments& arguments) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view value = i + 1 < words.size() ? words[i + 1] : std::string_view{};
    std::uint64_t jobs = 0;
    if (word == "--verbose") {
      arguments.verbose = true;
    } else if (word == "--shrink") {
      arguments.shrink = true;
    } else if (word == "--self-test") {
      arguments.self_test = true;
    } else if (word == "--defect") {
      const auto defect = defect_named(value);
      if (!defect) return false;
      arguments.defect = *defect;
      ++i;
    } else if (word == "--digests" && !value.empty()) {
      arguments.digests = value;
      ++i;
    } else if (word == "--only" || word == "--without") {
      const auto features = parse_features(value);
      if (!features) return false;
      if (word == "--only") {
        arguments.features.only = features;
      } else {
        arguments.features.without = *features;
      }
      arguments.feature_words += fmt::format(" {} {}", word, value);
      ++i;
    } else if (word == "--jobs" && number(value, jobs) && jobs > 0) {
      arguments.jobs = static_cast<unsigned>(jobs);
      ++i;
    } else if ((word == "--seeds" && number(value, arguments.seeds)) ||
               (word == "--first" && number(value, arguments.first)) ||
               (word == "--fresh" && number(value, arguments.fresh)) ||
               (word == "--seed" && number(value, arguments.seed))) {
      ++i;
    } else {
      return false;
    }
  }
  return true;
}

void print_usage() {
  std::string text =
      "usage: stowage_faults [--seeds N] [--first S] [--jobs N] [--fresh N] [--seed S] "
      "[--verbose]\n"
      "                      [--shrink] [--only FEATURES] [--without FEATURES] [--defect NAME]\n"
      "                      [--digests FILE] [--self-test]\nfeatures, with commas between them, "
      "or none:\n ";
  for (std::uint32_t i = 0; i < kFeatures; ++i) {
    text += fmt::format(" {}", name_of(static_cast<Feature>(i)));
  }
  text += "\ndefects:\n";
  for (const DefectInfo& each : all_defects()) {
    text += fmt::format("  {:<22} {}\n", each.name, each.what);
  }
  std::fputs(text.c_str(), stderr);
}

int run(const std::vector<std::string_view>& words) {
  Arguments arguments;
  if (!parse(words, arguments)) {
    print_usage();
    return kUsage;
  }
  if (arguments.self_test) return self_test(arguments);
  if (arguments.seed != 0) return run_one(arguments);
  if (arguments.fresh != 0) {
    arguments.seeds = arguments.fresh;
    arguments.first = fresh_seed();
    print(fmt::format("fresh seeds; the same again: stowage_faults --seeds {} --first {}{}\n",
                      arguments.seeds, arguments.first, arguments.feature_words));
  }
  return run_seeds(arguments);
}

}  // namespace
}  // namespace stowage::faults

int main(int argc, char** argv) {
  return stowage::faults::run(std::vector<std::string_view>(argv + 1, argv + argc));
}
