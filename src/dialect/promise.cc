// Promises: the node and the cards that an unbound pod was given when it was filtered.
#include <algorithm>

#include "dialect/amounts.h"
#include "dialect/dialect.h"
#include "dialect/table.h"
#include "dialect/times.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kNode = "predicate-node";
constexpr std::string_view kTime = "predicate-time";
constexpr std::string_view kGrace = "stuck-grace-period";
constexpr std::int64_t kLeastGrace = kNanosPerSecond;
// An author must not keep cards from others for ever with a pod that nobody binds.
constexpr std::int64_t kMostGrace = 3600 * kNanosPerSecond;

const Dialect* promising(const PodObject& object) {
  const auto all = dialects();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Dialect& dialect) {
    return !dialect.promises.empty() && spoken(object, dialect) != nullptr;
  });
  return found == all.end() ? nullptr : &*found;
}

const std::string* annotation(const PodObject& object, const Dialect& dialect,
                              std::string_view rest) {
  return find(object.annotations, std::string(dialect.promises) + std::string(rest));
}

bool failed(const PodObject& object, const Dialect& dialect) {
  if (dialect.phase_label.empty()) return false;
  const std::string* phase = find(object.around.labels, dialect.phase_label);
  return phase != nullptr && *phase == "failed";
}

// When the promise was made; unset if it was broken since.
std::optional<std::int64_t> made_at(const PromiseAsk& ask, const Dialect& dialect) {
  const PodObject& object = ask.object;
  const bool unschedulable = object.unscheduled_reason == "Unschedulable";
  const std::string* text = annotation(object, dialect, kTime);
  if (text == nullptr) {
    if (unschedulable) return std::nullopt;
    // Nobody says when. It can not have been before the pod was there.
    return parse_moment(object.created).value_or(ask.unix_nanos);
  }
  const auto made = parse_nanos(*text);
  if (!made || !unschedulable) return made;
  const auto since = parse_moment(object.unscheduled_since);
  if (!since) return made;
  // The API writes whole seconds: what happened within one can not be told apart.
  const bool later = *made / kNanosPerSecond > *since / kNanosPerSecond;
  return later ? made : std::nullopt;
}

std::int64_t grace_of(const PromiseAsk& ask, const Dialect& dialect) {
  const std::string* text = annotation(ask.object, dialect, kGrace);
  const auto own = text == nullptr ? std::nullopt : parse_duration(*text);
  return own && *own >= kLeastGrace ? std::min(*own, kMostGrace) : ask.grace_nanos;
}

}  // namespace

std::optional<std::string> promised_node(const PodObject& object) {
  if (!object.node.empty()) return std::nullopt;
  const Dialect* dialect = promising(object);
  const std::string* node = dialect == nullptr ? nullptr : annotation(object, *dialect, kNode);
  if (node == nullptr || node->empty()) return std::nullopt;
  return *node;
}

std::optional<std::int64_t> promised_at(const PodObject& object) {
  const Dialect* dialect = promising(object);
  const std::string* text = dialect == nullptr ? nullptr : annotation(object, *dialect, kTime);
  return text == nullptr ? std::nullopt : parse_nanos(*text);
}

std::optional<Promise> read_promise(const PromiseAsk& ask) {
  const auto node = promised_node(ask.object);
  if (!node || *node != ask.node.name) return std::nullopt;
  if (ask.object.ended() || ask.object.deleting) return std::nullopt;
  const Dialect* dialect = promising(ask.object);
  if (failed(ask.object, *dialect)) return std::nullopt;
  const auto made = made_at(ask, *dialect);
  const std::int64_t grace = grace_of(ask, *dialect);
  // One that is to be made far in the future is none.
  if (!made || *made > ask.unix_nanos + grace || *made <= ask.unix_nanos - grace) {
    return std::nullopt;
  }
  auto cards = dialect->read_answer(ask.object, ask.pod, ask.node);
  if (!cards || !*cards) return std::nullopt;
  return Promise{.node = *node, .cards = **std::move(cards), .until_unix_nanos = *made + grace};
}

}  // namespace stowage::dialect
