#include "client/what_if.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"
#include "client/pods_to_add.h"
#include "client/quotas.h"
#include "codec/config_map.h"
#include "codec/kubernetes.h"
#include "core/engine/engine.h"
#include "core/explain/condition.h"
#include "core/explain/render.h"
#include "dialect/dialect.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"

namespace stowage::client {
namespace {

// The longest time that kube-scheduler may take to bind a pod, with a margin (see
// extender/options.h).
constexpr std::chrono::seconds kBindLimit{660};

constexpr std::int64_t kUsualPods = 110;  // default of a kubelet

// Why no scheduler would handle the pod; empty: one would.
std::string not_for_us(const dialect::PodObject& pod) {
  if (!pod.node.empty()) {
    return fmt::format("the pod sets spec.nodeName to {} and needs no scheduler", pod.node);
  }
  if (pod.ended()) return fmt::format("the pod has ended (status.phase: {})", pod.phase);
  if (pod.deleting) return "the pod is being deleted";
  if (!pod.gates.empty()) {
    return fmt::format("the pod waits until its scheduling gates are removed: {}",
                       base::join(pod.gates));
  }
  return {};
}

std::vector<core::PolicyOptions> policies_of(const std::vector<scheduler::Profile>& profiles) {
  std::vector<core::PolicyOptions> policies;
  policies.reserve(profiles.size());
  for (const auto& profile : profiles) {
    policies.push_back(profile.policy);
    policies.back().picker_candidates = 0;  // no picker is asked
  }
  return policies;
}

class Rehearsal {
 public:
  explicit Rehearsal(const WhatIfRequest& ask)
      : ask_(ask),
        cluster_cache_(ask.profiles, event_queue_,
                       [this](const scheduler::Notice& notice) { update(notice); },
                       {.unix_nanos = [nanos = ask.unix_nanos] { return nanos; },
                        .now = [] { return base::Instant{}; }}),
        engine_(policies_of(ask.profiles)) {
    event_queue_.open();
    cluster_cache_.pre_allocations().enable_pre_allocations(0, kBindLimit);
    cluster_cache_.begin_pods();
  }

  Result<WhatIf> run() {
    STOWAGE_TRY_VOID(check_profile());
    PodsToAdd add;
    for (const auto& manifests : ask_.add) {
      for (const auto& object : manifests.objects()) add_pods_of(object, add);
    }
    check_names(add);
    STOWAGE_TRY_VOID(see_cluster());
    if (!add.passed_over.empty()) {
      out_.notes.push_back("skipped, since they create no pods for a scheduler: " +
                           base::join(add.passed_over));
    }
    for (dialect::PodObject& pod : pending_) place(std::move(pod));
    for (PodToAdd& pod : add.pods) {
      if (there_.contains(pod.name)) continue;
      if (pod.unread.empty()) {
        place(std::move(pod.object));
      } else {
        out_.placements.push_back({.pod = pod.name, .reason = pod.unread});
      }
    }
    return std::move(out_);
  }

 private:
  Status check_profile() {
    if (ask_.scheduler_name.empty() || known(ask_.scheduler_name)) return {};
    std::vector<std::string> names;
    for (const auto& profile : ask_.profiles) names.push_back(profile.name);
    const std::string hint = base::nearest(ask_.scheduler_name, names);
    return fail(fmt::format("no profile is named \"{}\"{}; there are {}", ask_.scheduler_name,
                            hint.empty() ? "" : "; did you mean " + hint + "?", base::join(names)));
  }

  [[nodiscard]] bool known(const std::string& name) const {
    return std::any_of(ask_.profiles.begin(), ask_.profiles.end(),
                       [&](const auto& profile) { return profile.name == name; });
  }

  // Of two pods with the same name, the first is added.
  void check_names(PodsToAdd& add) {
    std::erase_if(add.pods, [&](const PodToAdd& pod) {
      if (!pod.unread.empty() || adding_.insert(pod.name).second) return false;
      out_.notes.push_back(fmt::format(
          "pod {} is given twice; the second one is skipped: give it another name", pod.name));
      return true;
    });
  }

  // Nodes first, so that the cards that pods name are known.
  Status see_cluster() {
    std::vector<codec::ConfigMap> maps;
    for (const auto& manifests : ask_.cluster) {
      for (const auto& object : manifests.objects()) {
        STOWAGE_TRY_VOID(at(object, see_node_or_map(object, maps)));
      }
    }
    if (out_.nodes == 0) {
      return fail(
          "the cluster has no node; give --cluster a file with nodes, e.g. of kubectl get "
          "nodes,pods,configmaps -A -o json");
    }
    STOWAGE_TRY(quotas, quotas_of(maps, ask_.quota));
    if (quotas) handle(core::QuotaChanged{std::move(*quotas)});
    for (const auto& manifests : ask_.cluster) {
      for (const auto& object : manifests.objects()) {
        if (object.kind == "Pod") STOWAGE_TRY_VOID(at(object, upsert_pod(object)));
      }
    }
    // In the scheduler's order: by priority, then in the order of the file.
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const auto& a, const auto& b) { return a.priority > b.priority; });
    return {};
  }

  static Status at(const Manifest& object, Status status) {
    if (status) return status;
    return fail(fmt::format("{} ({}): {}", object.place(), object.kind, status.error().message));
  }

  Status see_node_or_map(const Manifest& object, std::vector<codec::ConfigMap>& maps) {
    if (object.kind == "ConfigMap") {
      STOWAGE_TRY(map, codec::read_config_map(parser_, object.json));
      maps.push_back(std::move(map));
    }
    if (object.kind != "Node") return {};
    STOWAGE_TRY(node, decoder_.node(object.json));
    if (node.name.empty()) return fail("metadata.name: missing");
    // The API server and the kubelet fill this in; a manifest written by hand may lack it.
    if (node.allocatable.empty()) node.allocatable = node.capacity;
    node.allocatable.try_emplace("pods", base::Quantity::of(kUsualPods));
    cluster_cache_.upsert_node(node);
    ++out_.nodes;
    deliver();
    return {};
  }

  Status upsert_pod(const Manifest& object) {
    STOWAGE_TRY(pod, decoder_.pod(object.json));
    if (pod.name.empty()) return fail("metadata.name: missing");
    if (pod.ns.empty()) pod.ns = "default";
    const std::string name = fmt::format("{}/{}", pod.ns, pod.name);
    if (pod.uid.empty()) pod.uid = made_uid(name);
    if (pod.ended()) return {};
    const bool again = adding_.contains(name);
    if (pod.node.empty()) {
      if (again) return {};  // the one to add counts
      if (ask_.pending && not_for_us(pod).empty() && known(pod.scheduler)) {
        pending_.push_back(std::move(pod));
      } else if (!known(pod.scheduler)) {
        cluster_cache_.upsert_pod(std::move(pod));  // it may carry a pre-allocation
      }
    } else {
      if (again && there_.insert(name).second) {
        out_.notes.push_back(
            fmt::format("pod {} is already on node {}; it is not added again", name, pod.node));
      }
      cluster_cache_.upsert_pod(std::move(pod));
      ++out_.bound_pods;
    }
    deliver();
    return {};
  }

  void update(const scheduler::Notice& notice) {
    using Kind = scheduler::Notice::Kind;
    if (notice.kind == Kind::invalid || notice.kind == Kind::unsupported) {
      refused_ = notice.text;
      condition_ = notice.kind == Kind::invalid ? core::ConditionReason::invalid_request
                                                : core::ConditionReason::unsupported_rule;
      return;
    }
    const bool node = notice.kind == scheduler::Notice::Kind::node;
    out_.notes.push_back(fmt::format("{} {}{}: {}", node ? "node" : "pod",
                                     node ? "" : notice.ns + "/", notice.name, notice.text));
  }

  // Passes everything in the event queue to the engine.
  void deliver() {
    const auto sizes = event_queue_.sizes();
    if (sizes.replies + sizes.objects + sizes.pending == 0) return;
    const auto messages = event_queue_.take(sizes.pending + 1);
    if (!messages) return;
    for (const auto& message : *messages) {
      if (const auto* event = std::get_if<core::Event>(&message)) handle(*event);
    }
  }

  void handle(const core::Event& event) {
    for (auto& command : engine_.handle_all(event, base::Instant{})) {
      if (const auto* reject = std::get_if<core::Reject>(&command); reject && placing_.empty()) {
        out_.notes.push_back(fmt::format("{}: {}", reject->subject, reject->why));
      } else {
        commands_.push_back(std::move(command));
      }
    }
  }

  void place(dialect::PodObject object) {
    Placement& placement = out_.placements.emplace_back();
    placement.pod = fmt::format("{}/{}", object.ns, object.name);
    placement.reason = not_for_us(object);
    if (!placement.reason.empty()) return;
    if (!ask_.scheduler_name.empty()) {
      object.scheduler = ask_.scheduler_name;
    } else if (!known(object.scheduler)) {
      object.scheduler = ask_.profiles.front().name;
    }
    const std::string uid = object.uid;
    placing_ = uid;
    refused_.clear();
    commands_.clear();
    cluster_cache_.upsert_pod(std::move(object));
    deliver();
    settle(uid, placement);
    placing_.clear();
  }

  void settle(const std::string& uid, Placement& placement) {
    placement.reason = refused_;
    if (!refused_.empty()) placement.condition = core::to_string(condition_);
    for (const core::Command& command : commands_) {
      if (const auto* bind = std::get_if<core::Bind>(&command); bind && bind->uid == uid) {
        write(*bind, placement);
        handle(core::BindDone{uid});
        return;
      }
      if (const auto* refuse = std::get_if<core::Refuse>(&command); refuse && refuse->uid == uid) {
        placement.reason = core::sentence(refuse->refusal);
        placement.condition = core::to_string(core::condition_reason(refuse->refusal));
      } else if (const auto* reject = std::get_if<core::Reject>(&command)) {
        placement.reason = reject->why;
        placement.condition = core::to_string(core::ConditionReason::invalid_request);
      }
    }
    if (placement.reason.empty()) placement.reason = "the scheduler has not decided on the pod";
    cluster_cache_.remove_pod(uid);  // it does not wait for capacity
    deliver();
  }

  void write(const core::Bind& bind, Placement& placement) {
    const scheduler::PendingPod* pod = cluster_cache_.pods().pending(bind.uid);
    const core::NodeSpec* node = cluster_cache_.nodes().find(bind.node);
    placement.node = bind.node;
    placement.reason.clear();
    if (pod == nullptr || node == nullptr) return;
    const auto cards = core::by_position(bind.cards, *node);
    if (!cards) return;
    for (std::size_t i = 0; i < pod->spec.containers.size(); ++i) {
      ContainerUse& use = placement.containers.emplace_back();
      use.name = pod->spec.containers[i].name;
      if (i >= cards->containers.size() || cards->containers[i].empty()) {
        use.unnamed = pod->spec.containers[i].gpu.count;
        continue;
      }
      for (const auto& share : cards->containers[i]) {
        const core::Card& card = node->cards[share.card];
        use.cards.push_back({.index = card.index,
                             .id = card.id,
                             .milli = share.milli,
                             .memory_mib = share.memory_mib});
      }
    }
    dialect::Answer answer = dialect::answer({.object = pod->object,
                                              .pod = pod->spec,
                                              .node = *node,
                                              .cards = *cards,
                                              .unix_nanos = ask_.unix_nanos});
    placement.annotations = std::move(answer.annotations);
    placement.labels = std::move(answer.labels);
  }

  const WhatIfRequest& ask_;
  scheduler::EventQueue event_queue_;
  scheduler::ClusterCache cluster_cache_;
  core::Engine engine_;
  codec::Decoder decoder_;
  codec::JsonText parser_;
  WhatIf out_;
  std::set<std::string> adding_;             // names
  std::set<std::string> there_;              // those that are already on a node
  std::vector<dialect::PodObject> pending_;  // of the cluster, placed first
  std::string placing_;                      // uid
  std::string refused_;
  core::ConditionReason condition_ = core::ConditionReason::unschedulable;
  core::Commands commands_;
};

}  // namespace

std::size_t WhatIf::placed() const {
  return static_cast<std::size_t>(
      std::count_if(placements.begin(), placements.end(),
                    [](const Placement& placement) { return placement.reason.empty(); }));
}

Result<WhatIf> what_if(const WhatIfRequest& ask) {
  if (ask.profiles.empty()) return fail("there is no profile");
  Rehearsal rehearsal(ask);
  return rehearsal.run();
}

}  // namespace stowage::client
