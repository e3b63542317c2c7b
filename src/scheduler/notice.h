// Something to tell people that is not a decision of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "dialect/objects.h"

namespace stowage::scheduler {

struct Notice {
  enum class Kind : std::uint8_t {
    refused,       // a pod of ours that cannot be placed as it is written
    forged,        // a new pod that carries what only we write: ignored
    drift,         // a bound pod whose annotations were edited: it keeps the cards that it has
    unread_cards,  // a bound pod whose cards cannot be read: taken as unknown
    unread_pod,    // a pod on a node that makes no sense: charged by what can be read
    node,          // a node with sources that disagree, or that cannot be read
    astray,        // a bound pod whose kubelet has given it other cards than it has here
    unsupported,   // a pod of ours that uses a rule that nobody here knows
    unlooked,      // a pod that asks for cards, of a scheduler that does not look at it
    unknown_key,   // a pod with an annotation under our name that means nothing
  };
  Kind kind = Kind::refused;
  std::string ns;
  std::string name;
  std::string uid;
  std::string text;
  bool was_false = false;  // the pod has PodScheduled=False already
};

using OnNotice = std::function<void(const Notice&)>;

[[nodiscard]] inline Notice notice_of(Notice::Kind kind, const dialect::PodObject& pod,
                                      std::string text) {
  return {.kind = kind,
          .ns = pod.ns,
          .name = pod.name,
          .uid = pod.uid,
          .text = std::move(text),
          .was_false = !pod.unscheduled_reason.empty()};
}

}  // namespace stowage::scheduler
