#include "cmd/replay_command.h"

#include <variant>

#include <fmt/format.h>

#include "base/file.h"
#include "cmd/exit.h"
#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "sim/trace.h"

namespace stowage::cmd {
namespace {

std::string cards_text(const core::NamedAssignment& cards) {
  std::string text;
  for (std::size_t i = 0; i < cards.containers.size(); ++i) {
    for (const auto& share : cards.containers[i]) {
      text += fmt::format("  container {}: card {}, {} milli, {} MiB\n", i, share.card, share.milli,
                          share.memory_mib);
    }
  }
  return text;
}

std::string decision_text(const core::Command& command) {
  if (const auto* bind = std::get_if<core::Bind>(&command)) {
    return fmt::format("pod {}: bound to {}\n{}", bind->uid, bind->node, cards_text(bind->cards));
  }
  if (const auto* refuse = std::get_if<core::Refuse>(&command)) {
    const std::string nearest = core::nearest_fit(refuse->refusal);
    return fmt::format("pod {}: refused\n  {}\n{}", refuse->uid, core::render(refuse->refusal),
                       nearest.empty() ? "" : "  " + nearest + "\n");
  }
  const auto& reject = std::get<core::Reject>(command);
  return fmt::format("{}: rejected: {}\n", reject.subject, reject.why);
}

}  // namespace

int run_replay(const std::string& file) {
  const auto text = base::read_file(file, sim::kInputBytesMax);
  if (!text) return end_with(kExitBadInput, text.error().message);
  const auto replay = core::replay_decision(*text);
  if (!replay) return end_with(kExitBadInput, fmt::format("{}: {}", file, replay.error().message));
  std::string out;
  for (const auto& command : replay->commands) out += decision_text(command);
  const bool same = replay->recorded == replay->replayed;
  out += same ? "the same as recorded\n" : "NOT the same as recorded\n";
  const int code = print(out);
  return code == kExitOk && !same ? kExitFailed : code;
}

}  // namespace stowage::cmd
