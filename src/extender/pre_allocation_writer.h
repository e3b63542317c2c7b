// Writes the node and the cards on a pod before kube-scheduler gets them as an answer, for
// extenders in the modes singleNode and count: kube-scheduler may bind the pod by that answer up to
// 11 minutes later, and the next leader has to know what is held for it.
//
// Lives on the loop's thread.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "dialect/dialect.h"
#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "extender/nodes_call.h"

namespace stowage::extender {

class PreAllocationWriter {
 public:
  PreAllocationWriter(CallContext& context, ExternalPodCache& external_pods)
      : context_(context), external_pods_(external_pods) {}

  // Whether an earlier answer is still being written on the pod.
  [[nodiscard]] bool writing(const std::string& uid) const { return writing_.contains(uid); }

  // To be called when the engine has answered, before write(): has what the call holds released
  // once kube-scheduler can no longer bind the pod, or, if no node fits, has an earlier
  // pre-allocation taken off the pod. False: this replica does not lead any more, and the hold has
  // been released.
  [[nodiscard]] bool keep_until_bound(NodesCall& call, bool fits);

  // Writes what the call holds on the pod and calls `done`, with an error text unless it is written
  // and the engine still holds it. On success, ExternalPod has the node and when it was chosen.
  // Requires: call->held, and keep_until_bound() has returned true. Fails while writing().
  using Done = std::function<void(const std::string& error)>;
  void write(const NodesCallPtr& call, Done done);

 private:
  [[nodiscard]] dialect::Annotations annotations_for(const NodesCall& call,
                                                     const core::NodeSpec& node,
                                                     const core::Assignment& cards) const;
  void check_still_held(const NodesCallPtr& call, Done done);

  CallContext& context_;
  ExternalPodCache& external_pods_;
  std::set<std::string> writing_;  // uids
};

}  // namespace stowage::extender
