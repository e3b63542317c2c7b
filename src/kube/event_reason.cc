#include "kube/event_reason.h"

namespace stowage::kube {

const char* to_string(EventReason reason) {
  switch (reason) {
    case EventReason::scheduled: return "Scheduled";
    case EventReason::failed_scheduling: return "FailedScheduling";
    case EventReason::preempted: return "Preempted";
    case EventReason::nominated: return "Nominated";
    case EventReason::filtering_failed: return "FilteringFailed";
    case EventReason::topology_downgraded: return "TopologyDowngraded";
    case EventReason::ambiguous_model: return "AmbiguousModel";
    case EventReason::card_conflict: return "CardConflict";
    case EventReason::untrusted_annotation: return "UntrustedAnnotation";
    case EventReason::annotation_mismatch: return "AnnotationMismatch";
    case EventReason::device_mismatch: return "DeviceMismatch";
    case EventReason::unknown_annotation: return "UnknownAnnotation";
    case EventReason::no_scheduler: return "NoScheduler";
    case EventReason::quota_unreadable: return "QuotaUnreadable";
  }
  return "Unknown";
}

}  // namespace stowage::kube
