// ExtenderDecoder::args: limits hold, nodes are objects inside the body, reading in place gives the
// same result, and an answer with all nodes names the same nodes.
#include <string>
#include <vector>

#include "codec/extender.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

using Views = std::vector<std::string_view>;

void check_nodes(const std::vector<codec::RawNode>& nodes, std::string_view body) {
  Views views;
  for (const codec::RawNode& node : nodes) {
    STOWAGE_CHECK(!node.name.empty() && inside(node.json, body));
    STOWAGE_CHECK(node.json.starts_with('{') && node.json.ends_with('}'));
    const auto alone = codec::Decoder().node(node.json);
    if (good(alone)) STOWAGE_CHECK(alone->name == node.name);
    views.push_back(node.json);
  }
  const std::string answer = codec::encode({.nodes = &views});
  const auto again = codec::ExtenderDecoder().args(std::string_view(answer));
  // Skipped parts of a node need not be valid JSON.
  if (!good(again) || again->node_names || !again->nodes) return;
  STOWAGE_CHECK(again->nodes->size() == nodes.size());
}

void check_names(const std::vector<std::string>& names) {
  const Views views(names.begin(), names.end());
  for (const std::string& name : names) STOWAGE_CHECK(!name.empty());
  const std::string answer = codec::encode({.node_names = &views, .error = "x"});
  const auto again = codec::ExtenderDecoder().args(std::string_view(answer));
  STOWAGE_CHECK(again && again->node_names == names);
}

}  // namespace

void one(std::string_view input) {
  codec::ExtenderDecoder decoder;
  const auto args = decoder.args(input);
  std::string body(input);
  const auto in_place = decoder.args(body);
  STOWAGE_CHECK(body == input);
  STOWAGE_CHECK(args.has_value() == in_place.has_value());
  if (!good(args)) return;
  STOWAGE_CHECK(!(args->nodes && args->node_names));
  STOWAGE_CHECK(args->pod == in_place->pod && args->node_names == in_place->node_names);
  STOWAGE_CHECK(args->nodes.has_value() == in_place->nodes.has_value());
  if (args->nodes) {
    STOWAGE_CHECK(args->nodes->size() == in_place->nodes->size());
    check_nodes(*args->nodes, input);
    check_nodes(*in_place->nodes, body);
  }
  if (args->node_names) check_names(*args->node_names);
}

}  // namespace stowage::fuzz
