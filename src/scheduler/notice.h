// A message for users that is not a decision of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "dialect/objects.h"

namespace stowage::scheduler {

struct Notice {
  enum class Kind : std::uint8_t {
    invalid,              // a pod of ours that cannot be placed as it is written
    untrusted,            // a new pod with annotations that only we write: ignored
    annotation_mismatch,  // a bound pod whose annotations were edited: it keeps the cards that it
                          // has
    unread_cards,         // a bound pod whose cards cannot be read: its cards count as unknown
    unread_pod,           // an invalid pod on a node: charged by the parts that can be read
    node,                 // a node whose sources disagree or cannot be read
    device_mismatch,      // a bound pod whose kubelet has given it other cards than it was assigned
    unsupported,          // a pod of ours that uses a rule that is not supported
    ignored,              // a pod that asks for cards, and whose scheduler does not handle it
    unknown_key,          // a pod with an unknown annotation under our prefix
  };
  Kind kind = Kind::invalid;
  std::string ns;
  std::string name;
  std::string uid;
  std::string text;
  bool was_false = false;  // the pod has PodScheduled=False already
};

using OnNotice = std::function<void(const Notice&)>;

inline void notify(const OnNotice& on_notice, const std::optional<Notice>& notice) {
  if (notice) on_notice(*notice);
}

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
