// Writes the choice of cards as annotations, and reads it back.
#include <algorithm>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/annotations.h"
#include "dialect/dialect.h"
#include "dialect/index_only.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

const Dialect* by_name(std::string_view name) {
  const auto all = dialects();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Dialect& d) { return d.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// The dialect whose annotations give the pod's cards; null: none does.
const Dialect* answering(const PodObject& object) {
  const auto reading = read(object, {.floor_whole_cards = true});
  const Dialect* dialect = reading && *reading ? by_name((*reading)->dialect) : nullptr;
  return dialect == nullptr || dialect->read_answer == nullptr ? nullptr : dialect;
}

tl::unexpected<Error> about(const core::PodSpec& pod, std::string_view what,
                            const std::string& message) {
  return fail(fmt::format("pod {}: {}: {}", pod.name, what, message));
}

}  // namespace

Answer answer(const AnswerRequest& ask) {
  Answer out;
  // It requests no cards, or was placed by number.
  if (!core::names_cards(ask.cards)) return out;
  // The pod was readable when it was placed. If it were not, our own annotation alone would still
  // be correct.
  const auto reading = read(ask.object, {.floor_whole_cards = true});
  const bool known = reading && *reading;
  out.annotations[std::string(kGpusAnnotation)] =
      gpus_text(ask, known ? (*reading)->followers : std::vector<std::size_t>());
  const Dialect* dialect = known ? by_name((*reading)->dialect) : nullptr;
  if (dialect != nullptr && dialect->write != nullptr) dialect->write(ask, out);
  return out;
}

Result<std::optional<core::Assignment>> read_answer(const PodObject& object,
                                                    const core::PodSpec& pod,
                                                    const core::NodeSpec* node) {
  if (object.node.empty() || node == nullptr || node->name != object.node) return std::nullopt;
  if (!core::asks_for_cards(pod)) return std::nullopt;
  if (const std::string* ours = find(object.annotations, kGpusAnnotation)) {
    auto cards = parse_gpus(*ours, pod, *node);
    if (!cards) return about(pod, kGpusAnnotation, cards.error().message);
    return *std::move(cards);
  }
  const Dialect* dialect = answering(object);
  if (dialect == nullptr) return std::nullopt;
  auto cards = dialect->read_answer(object, pod, *node);
  if (!cards) return about(pod, "annotations of the node's agent", cards.error().message);
  return *std::move(cards);
}

AnswerText answer_text(const PodObject& object) {
  const Dialect* dialect = answering(object);
  if (dialect == nullptr) return {};
  if (dialect->answer_text != nullptr) return dialect->answer_text(object);
  AnswerText out;
  for (const std::string_view start : dialect->answers) {
    auto at = object.annotations.lower_bound(std::string(start));
    for (; at != object.annotations.end() && at->first.starts_with(start); ++at) {
      out.text += fmt::format("{} is \"{}\"; ", at->first, at->second);
    }
  }
  return out;
}

bool has_indexes_only(const PodObject& object) {
  if (find(object.annotations, kGpusAnnotation) != nullptr) return false;
  const Dialect* dialect = answering(object);
  return dialect != nullptr && dialect->answers_by_index;
}

}  // namespace stowage::dialect
