// All nodes and pods of the API, turned into events for the engine. Decides what an object means
// (which scheduler places a pod, whether it runs, which cards it has), never where a pod goes.
//
//   pod of one of our profiles, unbound, not gated   -> PodPending
//   any pod on a node                                -> PodSeenBound, with the cards it names
//   ended or deleted                                 -> PodGone
//   pod of another scheduler, unbound                -> PodHeld if it carries a pre-allocation
//                                                       that still counts, else
//                                                       PodNominated if it is nominated to a node,
//                                                       or no longer is; PodGone when it goes
//   ours, but it cannot be read or uses a rule that is not supported -> a notice, no event
//
// Composes these parts: PodClassifier (which scheduler places a pod), NodeCache and PodCache (the
// objects), CardAnnotations with Signatures and KubeletAllocations (the cards of a pod),
// PreAllocations, UnboundExternalPods. The order of events is decided here.
//
// One thread. A list of pods is bracketed by two calls; a pod that the list does not contain counts
// as deleted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dialect/dialect.h"
#include "scheduler/card_annotations.h"
#include "scheduler/decision_clock.h"
#include "scheduler/event_queue.h"
#include "scheduler/kubelet_allocations.h"
#include "scheduler/node_cache.h"
#include "scheduler/notice.h"
#include "scheduler/pod_cache.h"
#include "scheduler/pod_classifier.h"
#include "scheduler/pre_allocations.h"
#include "scheduler/signatures.h"
#include "scheduler/unbound_external_pods.h"

namespace stowage::scheduler {

class ClusterCache {
 public:
  using Clock = PreAllocations::Clock;
  ClusterCache(const std::vector<Profile>& profiles, EventQueue& event_queue, OnNotice on_notice,
               const Clock& clock);
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  [[nodiscard]] const NodeCache& nodes() const { return nodes_; }
  [[nodiscard]] const PodCache& pods() const { return pods_; }
  [[nodiscard]] Signatures& signatures() { return signatures_; }
  [[nodiscard]] const Signatures& signatures() const { return signatures_; }
  [[nodiscard]] DecisionClock& decision_clock() { return decision_clock_; }
  [[nodiscard]] PreAllocations& pre_allocations() { return pre_allocations_; }
  [[nodiscard]] UnboundExternalPods& external_pods() { return external_pods_; }
  [[nodiscard]] KubeletAllocations& kubelets() { return kubelets_; }

  // Signs what is written on pods, and decides whether annotations under our name count: they must
  // be signed by one of these keys or be older than all signatures. Returns true if there are pods,
  // bound or not, that unknown keys had signed. The caller must list these pods again; they are
  // then checked again.
  [[nodiscard]] bool use_keys(kube::Keys keys);

  // We wrote these annotations on the pod: they count even if they are edited later. Ignored after
  // stand_down(): the reply to the write was late, and the next leader may replace them.
  void wrote(const std::string& uid, const dialect::Annotations& annotations);
  // Another replica leads. It may replace what we wrote on pods that are not bound yet, and it
  // makes and withdraws pre-allocations. The engine gets none of them until
  // pre_allocations().lead() is called.
  void stand_down();

  // Called with every node whose cards changed, and with null for a node that is deleted. Reports
  // only later changes: nodes().all_cards() has the current state.
  using OnCards = std::function<void(const std::string& node, const NodeCache::Cards*)>;
  void on_cards(OnCards told) { on_cards_ = std::move(told); }

  // A node that is invalid stays as it was, as with mark_node_unreadable(). A notice is sent when
  // the error is new.
  void upsert_node(const dialect::NodeObject& object);
  void remove_node(const std::string& name);
  // The node exists but cannot be read: its known state stays.
  void mark_node_unreadable(const std::string& name) { nodes_.mark_unreadable(name); }

  // Pods that are seen between these calls existed before, so their annotations are treated as
  // after a restart. Outside of them, a new pod was created just now. A dump of the API is a list
  // without an end.
  void begin_pods() { listing_pods_ = true; }
  void end_pods() { listing_pods_ = false; }
  // `check`: the result of its signature check, if already done.
  void upsert_pod(dialect::PodObject object, const Signatures::Checked& check = std::nullopt);
  void remove_pod(const std::string& uid);
  // A pod of another scheduler (by "namespace/name") is being bound through us, perhaps before the
  // watch showed it. Its deletion may be missed as well, so on_expected() is called if it was not
  // known.
  void on_expected(std::function<void(const std::string& uid)> told) {
    on_expected_ = std::move(told);
  }
  void expect_pod(const std::string& uid, const std::string& name);

  struct Sizes {
    std::size_t nodes = 0;
    std::size_t unread_nodes = 0;  // nodes that cannot be read, whether known before or not
    std::size_t pods = 0;
    std::size_t pending = 0;
    std::size_t bound = 0;
    std::size_t annotation_mismatched =
        0;                              // bound pods whose annotations differ from those that count
    std::size_t device_mismatched = 0;  // bound pods whose devices differ from the cards that count
    std::size_t unnamed = 0;            // bound pods whose cards are unknown
    std::size_t by_kubelet = 0;         // bound pods whose cards only the kubelet reports
    std::uint64_t annotation_edits = 0;  // edits of annotations of bound pods
    std::uint64_t untrusted = 0;  // pods that were created with annotations that only we write
  };
  [[nodiscard]] Sizes sizes() const;

 private:
  using Entry = PodCache::Entry;

  void update_unbound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is);
  void update_pending(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is);
  void update_bound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is,
                    const Signatures::Checked& check);
  void emit_bound(Entry& entry, dialect::PodObject object, core::PodSpec spec,
                  const Signatures::Checked& check);
  // The cards that count. If the annotations of the pod have only indexes, these are the cards that
  // the indexes meant when the pod was first read. They are read again only if the node begins or
  // ceases to list its cards.
  struct ReadPod {
    const dialect::PodObject& object;
    const core::PodSpec& spec;
    const core::NodeSpec* node;
    AssignmentResolver::Resolution& resolution;
  };
  [[nodiscard]] std::optional<core::NamedAssignment> take_cards(Entry& entry, const ReadPod& pod);
  void read_indexed_again(Entry& entry, const core::NodeSpec& node);
  void forget(Entry& entry);

  PodClassifier classifier_;
  EventQueue& event_queue_;
  OnNotice on_notice_;
  NodeCache nodes_;
  PodCache pods_;
  Signatures signatures_;
  CardAnnotations annotations_;
  KubeletAllocations kubelets_;
  DecisionClock decision_clock_;
  PreAllocations pre_allocations_;
  UnboundExternalPods external_pods_;
  std::function<void(const std::string& uid)> on_expected_;
  OnCards on_cards_;
  bool listing_pods_ = false;
};

}  // namespace stowage::scheduler
