// Decoder::node: a used decoder gives the same result as a fresh one, and a node inside a watch
// event or an extender's body is the same node.
#include <string>

#include "codec/extender.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::Decoder decoder;
  const auto node = decoder.node(input);
  STOWAGE_CHECK(same(node, decoder.node(input)));
  if (!good(node)) return;
  const std::string line = R"({"type":"ADDED","object":)" + std::string(input) + "}";
  const auto event = decoder.watch_event(line);
  if (good(event)) STOWAGE_CHECK(same(decoder.node(event->object), node));
  const std::string body = R"({"Nodes":{"items":[)" + std::string(input) + "]}}";
  const auto args = codec::ExtenderDecoder().args(body);
  if (good(args) && args->nodes->size() == 1)
    STOWAGE_CHECK(args->nodes->front().name == node->name);
}

}  // namespace stowage::fuzz
