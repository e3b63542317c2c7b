// Prints every decision of the engine on a trace, or on random scripts of events.
//
//   stowage_decisions fill POLICY NODES.csv PODS.csv [A|B]   pods come until 130 % is asked for
//   stowage_decisions churn POLICY NODES.csv PODS.csv [A|B]  they come and go, and wait; binds fail
//   stowage_decisions scripts POLICY COUNT                   everything else that can happen
//   stowage_decisions policies                               names of policies, one a line
//
// A or B: pods ask for memory too, as with `stowage sim --memory-share`. tools/digest.py runs this
// over all traces and policies and compares.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/generator.h"
#include "sim/memory_share.h"
#include "sim/typical.h"
#include "tests/decisions/log.h"
#include "tests/decisions/scripts.h"
#include "tests/decisions/traces.h"

namespace stowage::decisions {
namespace {

constexpr int kUsage = 2;
constexpr std::uint64_t kSeed = 42;

int complain(std::string_view text) {
  std::fprintf(stderr, "stowage_decisions: %.*s\n", static_cast<int>(text.size()), text.data());
  return kUsage;
}

Result<sim::Trace> read_trace(const std::vector<std::string>& words) {
  sim::Trace trace;
  STOWAGE_TRY(nodes, sim::read_nodes(words[2]));
  STOWAGE_TRY(pods, sim::read_pods(words[3]));
  trace.nodes = std::move(nodes);
  trace.pods = std::move(pods);
  if (words.size() > 4) {
    const bool follows = words[4] == "A";
    sim::add_memory(trace,
                    follows ? sim::MemoryShare::follows_milli : sim::MemoryShare::some_memory_only,
                    kSeed);
  }
  return trace;
}

Status run_trace(const std::vector<std::string>& words, core::PolicyOptions options, Log& log) {
  STOWAGE_TRY(trace, read_trace(words));
  if (options.choice.node == core::NodePolicy::fgd) options.typical = sim::typical_pods(trace.pods);
  return words[0] == "fill" ? fill(trace, std::move(options), log)
                            : churn(trace, std::move(options), log);
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "policies") {
    for (const std::string& name : core::policy_names()) std::puts(name.c_str());
    return 0;
  }
  const bool on_trace = !words.empty() && (words[0] == "fill" || words[0] == "churn") &&
                        (words.size() == 4 || words.size() == 5);
  const bool on_scripts = words.size() == 3 && words[0] == "scripts";
  if (!on_trace && !on_scripts)
    return complain("usage: fill, churn, scripts or policies: see main.cc");
  const auto choice = core::parse_policy(words[1]);
  if (!choice) return complain(choice.error().message);
  core::PolicyOptions options{.choice = *choice, .seed = kSeed, .typical = {}};
  Log log;
  if (on_scripts) {
    std::uint32_t count = 0;
    const char* const end = words[2].data() + words[2].size();
    if (std::from_chars(words[2].data(), end, count).ptr != end)
      return complain("COUNT is no number");
    for (std::uint32_t seed = 1; seed <= count; ++seed) run_script(seed, options, log);
  } else if (const Status done = run_trace(words, options, log); !done) {
    return complain(done.error().message);
  }
  return log.flush() ? 0 : 1;
}

}  // namespace
}  // namespace stowage::decisions

int main(int argc, char** argv) {
  return stowage::decisions::run(std::vector<std::string>(argv + 1, argv + argc));
}
