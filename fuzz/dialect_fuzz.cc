// The dialects, with objects as any user may write them. Each line of the input is one item:
//   c NAME         a container; r RESOURCE=QUANTITY: what the last container asks for
//   a KEY=VALUE    an annotation of the pod; l KEY=VALUE: a label
//   A, L and R     the same of the node; N NAME: the node's name
//   f              whole cards are rounded down
// Errors are valid messages. The answer on a pod, written again, is read as the same; so are the
// cards of a node, written as our own inventory.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/json_writer.h"
#include "dialect/dialect.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

using dialect::NodeObject;
using dialect::PodObject;

constexpr std::int64_t kNow = 1'800'000'000'000'000'000;

struct Objects {
  PodObject pod{.ns = "ml", .name = "train", .uid = "u-1", .node = "n1"};
  NodeObject node{.name = "n1"};
  dialect::ReadOptions options;
};

void put(dialect::Quantities& quantities, const std::string& name, std::string_view text) {
  const auto quantity = base::Quantity::parse(text);
  if (good(quantity)) quantities[name] = *quantity;
}

void read_line(std::string_view line, Objects& out) {
  if (line.empty()) return;
  const std::string_view rest = line.substr(line.size() > 1 ? 2 : 1);
  const std::size_t equals = std::min(rest.find('='), rest.size());
  const std::string key(rest.substr(0, equals));
  const std::string value(rest.substr(std::min(equals + 1, rest.size())));
  auto& containers = out.pod.containers;
  switch (line.front()) {
    case 'c': containers.push_back({.name = std::string(rest)}); break;
    case 'r':
      if (containers.empty()) break;
      put(containers.back().requests, key, value);
      put(containers.back().limits, key, value);
      break;
    case 'a': out.pod.annotations[key] = value; break;
    case 'l': out.pod.constraints.labels[key] = value; break;
    case 'A': out.node.annotations[key] = value; break;
    case 'L': out.node.labels[key] = value; break;
    case 'R':
      put(out.node.allocatable, key, value);
      put(out.node.capacity, key, value);
      break;
    case 'N': out.node.name = std::string(rest); break;
    case 'f': out.options.floor_whole_cards = true; break;
    default: break;
  }
}

Objects objects_of(std::string_view input) {
  Objects out;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    read_line(input.substr(0, end), out);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return out;
}

void check_inventory(const NodeObject& node, const dialect::NodeReading& reading) {
  for (const std::string& note : reading.notes) check_error({note});
  if (reading.node.cards.empty()) return;
  NodeObject named = node;
  named.annotations[std::string(dialect::kInventoryAnnotation)] =
      dialect::inventory_text(reading.node.cards, reading.node.links);
  const auto again = dialect::to_spec(named);
  STOWAGE_CHECK(again && again->node.cards == reading.node.cards);
}

void check_pre_allocation(const PodObject& pod, const core::PodSpec& spec,
                          const core::NodeSpec& node) {
  const auto pre_allocated = dialect::pre_allocated_node(pod);
  if (!pre_allocated) return;
  const auto pre_allocation =
      dialect::read_pre_allocation({.object = pod, .pod = spec, .node = node, .unix_nanos = kNow});
  if (pre_allocation) STOWAGE_CHECK(pre_allocation->node == *pre_allocated);
}

void check_answer(const PodObject& pod, const core::PodSpec& spec, const core::NodeSpec& node) {
  const auto cards = dialect::read_answer(pod, spec, &node);
  if (!good(cards) || !*cards) return;
  PodObject answered = pod;
  for (auto& [key, value] :
       dialect::answer(
           {.object = pod, .pod = spec, .node = node, .cards = **cards, .unix_nanos = kNow})
           .annotations) {
    answered.annotations[key] = value;
  }
  const auto again = dialect::read_answer(answered, spec, &node);
  // An agent may have given other amounts than the pod requests; our own annotation may not.
  if (good(again)) STOWAGE_CHECK(*again == *cards);
}

}  // namespace

void one(std::string_view input) {
  if (!base::is_utf8(input)) return;  // as is everything that comes from JSON
  const Objects objects = objects_of(input);
  STOWAGE_CHECK(dialect::gang_of(objects.pod).size() <= input.size() + 4);
  const auto node = dialect::to_spec(objects.node);
  if (good(node)) check_inventory(objects.node, *node);
  static_cast<void>(good(dialect::read(objects.pod, objects.options)));
  const auto pod = dialect::to_spec(objects.pod, objects.options);
  if (!good(pod) || !node) return;
  check_answer(objects.pod, *pod, node->node);
  check_pre_allocation(objects.pod, *pod, node->node);
}

}  // namespace stowage::fuzz
