#include "tests/decisions/log.h"

#include <cstdio>
#include <variant>

#include <fmt/format.h>

#include "core/explain/condition.h"
#include "core/explain/render.h"
#include "core/record/decision.h"

namespace stowage::decisions {
namespace {

constexpr std::size_t kBuffer = 1U << 20U;

// Fields that core::to_text omits because they are not part of a recorded decision.
void add_rest(std::string& text, const core::Command& command) {
  if (const auto* conflict = std::get_if<core::CardConflict>(&command)) {
    text += fmt::format("conflict {} {} {} {} {} {}\n", conflict->uid, conflict->with,
                        conflict->node, conflict->card, conflict->evict, conflict->in_doubt);
  } else if (const auto* ask = std::get_if<core::AskPicker>(&command)) {
    for (const core::Candidate& each : ask->candidates) {
      text += fmt::format("candidate {} {} {} {} {} {} {} {} {}\n", each.node, each.cost,
                          each.cpu_free_milli, each.memory_free_bytes, each.cards, each.cards_idle,
                          each.milli_free, each.card_memory_free, each.pods);
    }
  } else if (const auto* refuse = std::get_if<core::Refuse>(&command)) {
    text += fmt::format("{}: {}\n", core::to_string(core::condition_reason(refuse->refusal)),
                        core::sentence(refuse->refusal));
  }
}

}  // namespace

void Log::step(std::string_view what, std::string_view subject, base::Instant now) {
  text_ += fmt::format("#{} {} {} at {}\n", ++steps_, what, subject, now.ns);
  if (text_.size() > kBuffer) good_ = flush() && good_;
}

void Log::commands(const core::Commands& commands) {
  if (commands.empty()) return;
  line(core::to_text(commands));
  for (const core::Command& command : commands) add_rest(text_, command);
}

void Log::answer(const core::FilterAnswer& answer) {
  text_ +=
      fmt::format("fits {}; binding to [{}]\n", fmt::join(answer.fits, ","), answer.binding_to);
  for (const auto& refused : answer.refused) {
    text_ += fmt::format("  {} {} ", refused.node, refused.unknown);
    add_reason(refused.reason);
  }
  if (answer.held) add_place(*answer.held);
  line(core::sentence(answer.refusal));
}

void Log::answer(const core::Scores& scores) {
  text_ += fmt::format("scores {}\n", fmt::join(scores, ","));
}

void Log::answer(const core::ReserveAnswer& answer) {
  text_ += fmt::format("claim again {} held {} bound to [{}] unknown {} ", answer.again,
                       answer.held, answer.bound_to, answer.unknown);
  add_reason(answer.reason);
  if (answer.place) add_place(*answer.place);
}

void Log::answer(const core::PreemptAnswer& answer) {
  for (const auto& node : answer.nodes) {
    text_ += fmt::format("preempt {}: {}; kept {} added {}\n", node.node,
                         fmt::join(node.victims, ","), node.kept, node.added);
  }
}

void Log::line(std::string_view text) {
  text_ += text;
  text_ += '\n';
}

bool Log::flush() {
  const bool written = std::fwrite(text_.data(), 1, text_.size(), stdout) == text_.size();
  text_.clear();
  return std::fflush(stdout) == 0 && written && good_;
}

void Log::add_reason(const core::Reason& reason) {
  text_ += fmt::format("{} {} {} {}\n", core::to_string(reason.code), reason.only, reason.asked,
                       reason.found);
}

void Log::add_place(const core::CardPlacement& place) {
  core::Bind as_bind{.uid = "place", .node = place.node, .cards = place.cards, .claims = {}};
  line(core::to_text(core::Commands{std::move(as_bind)}));
}

}  // namespace stowage::decisions
