#include "scheduler/node_source.h"

#include <utility>

namespace stowage::scheduler {

NodeSource::NodeSource(kube::ReflectorOptions options, Deps deps)
    : deps_(std::move(deps)),
      informer_(deps_.client,
                {.reflector = std::move(options), .outages = deps_.outages, .what = "nodes"},
                *this) {}

Result<std::string> NodeSource::key_of(std::string_view json) {
  std::string name = decoder_.identity(json).name;
  if (name.empty()) return fail("the name of a deleted node cannot be read");
  return name;
}

void NodeSource::unreadable(const Unreadable& node) {
  deps_.log.warn("unreadable node: its last known state is kept",
                 {{"node", node.key}, {"why", node.why}});
  deps_.cluster_cache.mark_node_unreadable(node.key);
}

void NodeSource::unreadable_event(const std::string& why) {
  deps_.log.warn("unreadable watch event of a node", {{"why", why}});
}

}  // namespace stowage::scheduler
