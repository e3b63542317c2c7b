#include "plugin/isolation.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "core/model/node.h"
#include "mps/card_state.h"
#include "mps/client_limits.h"

namespace stowage::plugin {
namespace {

constexpr std::size_t kStateBytesMax = 16'384;
constexpr std::string_view kInstance = "MIG-";

// With all of the compute and a part of the memory, others may have shares of memory.
bool whole(const CardShare& card) {
  const bool all_memory =
      card.memory_mib == 0 || (card.card_memory_mib > 0 && card.memory_mib >= card.card_memory_mib);
  return card.milli >= core::kMilliPerCard && all_memory;
}

Result<mps::CardState> daemon_of(const std::string& card, const IsolationOptions& options) {
  if (!mps::usable_as_name(card)) return fail(fmt::format("card {} has no MPS daemon", card));
  const std::string file = mps::folder_of(options.mps_root, card).state();
  const auto text = base::read_file(file, kStateBytesMax);
  if (!text) {
    return fail(
        fmt::format("card {} has no MPS daemon: {}; is the DaemonSet of deploy/mps.yaml "
                    "running on this node?",
                    card, text.error().message));
  }
  auto state = mps::parse_card_state(*text);
  if (!state) return fail(fmt::format("{} cannot be read: {}", file, state.error().message));
  // A clock that was set back makes a state look new for a while, not old.
  if (options.unix_now - state->written_unix > mps::kStateSeconds) {
    return fail(fmt::format("the MPS daemon of card {} has not been seen for {} s", card,
                            options.unix_now - state->written_unix));
  }
  if (!state->running) {
    return fail(fmt::format("card {} takes no shares now: {}", card, state->error));
  }
  return state;
}

}  // namespace

std::string_view to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::none: return "none";
    case Isolation::mps_open: return "mps-open";
    case Isolation::mps: return "mps";
    case Isolation::mig: return "mig";
    case Isolation::whole: return "whole";
  }
  return {};
}

Result<IsolationPlan> plan_isolation(const std::vector<CardShare>& cards,
                                     const IsolationOptions& options) {
  const auto is_instance = [](const CardShare& card) { return card.id.starts_with(kInstance); };
  if (std::all_of(cards.begin(), cards.end(), whole)) {
    const bool mig = std::any_of(cards.begin(), cards.end(), is_instance);
    return IsolationPlan{.level = mig ? Isolation::mig : Isolation::whole, .edits = {}};
  }
  // One process talks to one MPS daemon, and each card has its own.
  if (options.mps_root.empty() || cards.size() != 1) return IsolationPlan{};
  const CardShare& share = cards.front();
  STOWAGE_TRY(state, daemon_of(share.id, options));
  const mps::ClientSettings settings =
      mps::client_settings(mps::folder_of(options.mps_root, share.id),
                           {.milli = share.milli, .memory_mib = share.memory_mib});
  IsolationPlan plan{.level = state.exclusive ? Isolation::mps : Isolation::mps_open, .edits = {}};
  plan.edits.env = settings.env;
  plan.edits.mounts.push_back({.host_path = settings.host_path,
                               .container_path = settings.container_path,
                               .type = "",
                               .options = {"ro", "nosuid", "nodev", "bind"}});
  return plan;
}

}  // namespace stowage::plugin
