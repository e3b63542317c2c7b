// The reasons of the events that Stowage writes. They are public: users search and alert for them.
#pragma once

#include <array>
#include <cstdint>

namespace stowage::kube {

enum class EventReason : std::uint8_t {
  scheduled,             // as in kube-scheduler
  failed_scheduling,     // as in kube-scheduler
  preempted,             // as in kube-scheduler, on the victim
  nominated,             // capacity on a node is kept for the pod
  filtering_failed,      // an extender found no node
  topology_downgraded,   // the cards are not as close to each other as the pod asks for
  ambiguous_model,       // a GPU type that the pod names is part of the name of another type
  card_conflict,         // another pod has the same share of a card
  untrusted_annotation,  // a new pod has annotations that only the scheduler writes
  annotation_mismatch,   // the annotations of a bound pod no longer name its cards
  device_mismatch,       // the kubelet has given a bound pod other cards
  unknown_annotation,    // an unknown annotation under stowage.dev/
  no_scheduler,          // a pod asks for cards, and no scheduler has its schedulerName
  quota_unreadable,      // on a ConfigMap: the last good quota stays in effect
};
inline constexpr std::array kEventReasons{EventReason::scheduled,
                                          EventReason::failed_scheduling,
                                          EventReason::preempted,
                                          EventReason::nominated,
                                          EventReason::filtering_failed,
                                          EventReason::topology_downgraded,
                                          EventReason::ambiguous_model,
                                          EventReason::card_conflict,
                                          EventReason::untrusted_annotation,
                                          EventReason::annotation_mismatch,
                                          EventReason::device_mismatch,
                                          EventReason::unknown_annotation,
                                          EventReason::no_scheduler,
                                          EventReason::quota_unreadable};

// As the API shows it, e.g. "FailedScheduling".
[[nodiscard]] const char* to_string(EventReason reason);

}  // namespace stowage::kube
