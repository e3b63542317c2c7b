// Pre-allocations: the node and cards that were chosen for an unbound pod in filter.
#include <algorithm>
#include <set>
#include <utility>

#include "dialect/amounts.h"
#include "dialect/decision.h"
#include "dialect/dialect.h"
#include "dialect/json.h"
#include "dialect/table.h"
#include "dialect/times.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kNode = "predicate-node";
constexpr std::string_view kTime = "predicate-time";
constexpr std::string_view kPredicate = "predicate-";
constexpr std::string_view kPreAllocated = "pre-allocated";

const Dialect* pre_allocates(const PodObject& object) {
  const auto all = dialects();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Dialect& dialect) {
    return !dialect.pre_allocations.empty() && spoken(object, dialect) != nullptr;
  });
  return found == all.end() ? nullptr : &*found;
}

const std::string* annotation(const PodObject& object, const Dialect& dialect,
                              std::string_view rest) {
  return find(object.annotations, std::string(dialect.pre_allocations) + std::string(rest));
}

// The node in our own annotation. It is used if only a number of cards is held, and if the pod's
// dialect has no annotation for it.
const std::string* own_node(const PodObject& object) {
  const std::string* node = find(object.annotations, kPreAllocatedNodeAnnotation);
  return node == nullptr || node->empty() ? nullptr : node;
}

// When such a pre-allocation was made, according to its signature; it does not count without one.
std::optional<std::int64_t> signed_at(const PodObject& object) {
  const std::string* text = find(object.annotations, kSignatureAnnotation);
  const auto signature = text == nullptr ? std::nullopt : parse_signature(*text);
  if (!signature || signature->purpose != Purpose::pre_allocation) return std::nullopt;
  return signature->unix_nanos;
}

bool has_own_cards(const PodObject& object) {
  return find(object.annotations, kGpusAnnotation) != nullptr;
}

// The cards in our own annotation, if there is one.
std::optional<core::Assignment> own_cards(const PreAllocationRequest& ask) {
  core::Assignment none;
  none.containers.resize(ask.pod.containers.size());
  if (!has_own_cards(ask.object)) return none;
  PodObject bound = ask.object;
  bound.node = ask.node.name;
  auto cards = read_answer(bound, ask.pod, &ask.node);
  if (!cards || !*cards) return std::nullopt;
  return **std::move(cards);
}

bool failed(const PodObject& object, const Dialect& dialect) {
  if (dialect.phase_label.empty()) return false;
  const std::string* phase = find(object.constraints.labels, dialect.phase_label);
  return phase != nullptr && *phase == "failed";
}

// Our signed text names cards by id. The dialect's own annotations may have only an index, which
// may now belong to another card, and users who may edit the pod can edit them.
std::optional<PreAllocation> read_own(const PreAllocationRequest& ask) {
  const auto at = signed_at(ask.object);
  auto cards = at && ask.is_signed ? own_cards(ask) : std::nullopt;
  if (!cards) return std::nullopt;
  const Dialect* dialect = pre_allocates(ask.object);
  return PreAllocation{.node = ask.node.name,
                       .cards = *std::move(cards),
                       .made_unix_nanos = *at,
                       .broken = refused_since(ask.object, *at) ||
                                 (dialect != nullptr && failed(ask.object, *dialect))};
}

// Upper bound of clock differences between replicas.
constexpr std::int64_t kFuture = 600 * kNanosPerSecond;

struct Made {
  std::int64_t at = 0;
  bool broken = false;
};
// Unset if it is invalid.
std::optional<Made> made(const PreAllocationRequest& ask, const Dialect& dialect) {
  const PodObject& object = ask.object;
  const std::string* text = annotation(object, dialect, kTime);
  if (text == nullptr) {
    // The time is missing. It cannot be before the creation of the pod.
    return Made{.at = parse_moment(object.created).value_or(ask.unix_nanos),
                .broken = !object.unscheduled_reason.empty()};
  }
  const auto at = parse_nanos(*text);
  if (!at || *at < 0) return std::nullopt;
  if (*at > ask.unix_nanos + kFuture) return std::nullopt;
  return Made{.at = *at, .broken = refused_since(object, *at)};
}

}  // namespace

std::optional<std::string> pre_allocated_node(const PodObject& object) {
  if (!object.node.empty()) return std::nullopt;
  if (const std::string* node = own_node(object)) return *node;
  const Dialect* dialect = pre_allocates(object);
  const std::string* node = dialect == nullptr ? nullptr : annotation(object, *dialect, kNode);
  if (node == nullptr || node->empty()) return std::nullopt;
  return *node;
}

std::optional<std::string> signed_node(const PodObject& object) {
  if (find(object.annotations, kSignatureAnnotation) == nullptr) return std::nullopt;
  const std::string* gpus = find(object.annotations, kGpusAnnotation);
  if (gpus == nullptr) {
    const std::string* node = own_node(object);
    return node == nullptr ? std::nullopt : std::optional(*node);
  }
  const auto json = parse_json(*gpus);
  const Json* node = json ? json->find("node") : nullptr;
  if (node == nullptr || node->kind != Json::Kind::string || node->text.empty()) {
    return std::nullopt;
  }
  return std::string(node->text);
}

bool pre_allocated_by_signature(const PodObject& object) { return signed_at(object).has_value(); }

bool pre_allocated_in_our_words(const PodObject& object) { return own_node(object) != nullptr; }

std::optional<std::int64_t> pre_allocated_at(const PodObject& object) {
  if (pre_allocated_in_our_words(object)) return signed_at(object);
  const Dialect* dialect = pre_allocates(object);
  const std::string* text = dialect == nullptr ? nullptr : annotation(object, *dialect, kTime);
  return text == nullptr ? std::nullopt : parse_nanos(*text);
}

std::optional<PreAllocation> read_pre_allocation(const PreAllocationRequest& ask) {
  const auto node = pre_allocated_node(ask.object);
  if (!node || *node != ask.node.name) return std::nullopt;
  if (ask.object.ended() || ask.object.deleting) return std::nullopt;
  if (ask.is_signed || pre_allocated_in_our_words(ask.object)) return read_own(ask);
  const Dialect* dialect = pre_allocates(ask.object);
  const auto when = made(ask, *dialect);
  if (!when) return std::nullopt;
  auto cards = dialect->read_answer(ask.object, ask.pod, ask.node);
  if (!cards || !*cards) return std::nullopt;
  return PreAllocation{.node = *node,
                       .cards = **std::move(cards),
                       .made_unix_nanos = when->at,
                       .broken = when->broken || failed(ask.object, *dialect)};
}

bool pre_allocation_outdated(const PodObject& object, const core::PodSpec& pod,
                             const core::NodeSpec& node) {
  const Dialect* dialect = pre_allocates(object);
  if (dialect == nullptr || !has_own_cards(object)) return false;
  const auto ours = own_cards({.object = object, .pod = pod, .node = node});
  const auto theirs = dialect->read_answer(object, pod, node);
  if (!ours || !theirs || !*theirs) return false;
  const auto cards = [](const core::Assignment& assignment) {
    std::vector<std::set<std::uint32_t>> of;
    for (const auto& shares : assignment.containers) {
      auto& all = of.emplace_back();
      for (const core::CardShare& share : shares) all.insert(share.card);
    }
    return of;
  };
  return cards(*ours) != cards(**theirs);
}

bool refused_since(const PodObject& object, std::int64_t unix_nanos) {
  if (object.unscheduled_reason.empty()) return false;
  const auto since = parse_moment(object.unscheduled_since);
  return since && *since / kNanosPerSecond > unix_nanos / kNanosPerSecond;
}

std::vector<std::string> pre_allocation_annotations(const PodObject& object) {
  std::vector<std::string> keys = scheduler_annotations(object);
  std::erase(keys, std::string(kRetryAnnotation));
  const Dialect* dialect = pre_allocates(object);
  if (dialect == nullptr) return keys;
  for (const auto& [key, text] : object.annotations) {
    const std::string_view rest = std::string_view(key).substr(
        key.starts_with(dialect->pre_allocations) ? dialect->pre_allocations.size() : key.size());
    if (rest.starts_with(kPredicate) || rest == kPreAllocated) keys.push_back(key);
  }
  return keys;
}

}  // namespace stowage::dialect
