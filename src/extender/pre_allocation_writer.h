// Writes the node and the cards on a pod before kube-scheduler gets them as an answer, for
// extenders in the modes singleNode and count: kube-scheduler may bind the pod by that answer up to
// 11 minutes later, and the next leader has to know what is held for it.
//
// The write names the version of the pod on which the answer is based. If others have changed the
// pod since, it is written on the new version, but never over a later decision.
//
// Lives on the loop's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/encode.h"
#include "dialect/dialect.h"
#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "extender/nodes_call.h"

namespace stowage::extender {

inline constexpr std::string_view kBeingWritten =
    "an earlier answer is still being written to the pod; try again";

class PreAllocationWriter {
 public:
  PreAllocationWriter(CallContext& context, ExternalPodCache& external_pods)
      : context_(context), external_pods_(external_pods) {}

  // To be called when the engine has answered, before write(): has what the call holds released
  // once kube-scheduler can no longer bind the pod, or, if no node fits, has an earlier
  // pre-allocation taken off the pod. False: this replica does not lead any more, and the hold has
  // been released.
  [[nodiscard]] bool keep_until_bound(NodesCall& call, bool fits);

  // Writes what the call holds on the pod and calls `done`, with an error text unless it is written
  // and the engine still holds it. On success, ExternalPod has the node and when it was chosen.
  // Requires: call->held, and keep_until_bound() has returned true. Fails while an earlier answer
  // is being written.
  using Done = std::function<void(const std::string& error)>;
  void write(const NodesCallPtr& call, Done done);

 private:
  [[nodiscard]] dialect::Annotations annotations_for(const NodesCall& call,
                                                     const core::NodeSpec& node,
                                                     const core::Assignment& cards) const;
  // The write for call.object as it is; sets call.written. Fails if the node or its cards are gone.
  [[nodiscard]] Result<codec::MetadataRequest> patch_for(NodesCall& call) const;
  // The same for the pod as it is now. Fails if the answer must not be written any more.
  [[nodiscard]] Result<codec::MetadataRequest> rebase(NodesCall& call,
                                                      const dialect::PodObject& now) const;
  void warn_about(const NodesCall& call) const;
  void check_still_held(const NodesCallPtr& call, Done done);

  CallContext& context_;
  ExternalPodCache& external_pods_;
};

}  // namespace stowage::extender
