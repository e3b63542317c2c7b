#include "local/kubelet/local_kubelets.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "local/fleet/fleet.h"

namespace stowage::local {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Some milliseconds of work; then other work runs.
constexpr std::size_t kSlice = 64;
constexpr microseconds kPauseAfterFailure = seconds{1};

// Leases are for users to look at; no part depends on them, so few are written.
constexpr std::size_t kLeasesAtOnce = 20;
constexpr microseconds kLeaseTick = seconds{1};
constexpr std::int64_t kLeaseSeconds = 40;
constexpr microseconds kLeaseRest = seconds{60};

ObjectName lease_name(const std::string& node) { return {"kube-node-lease", node}; }

}  // namespace

std::string pod_address(std::string_view prefix, std::uint32_t number) {
  return fmt::format("{}{}", prefix, 1 + number % 254);
}

std::string pod_prefix_of(const json::object& node) {
  const std::string_view range = text_at(node, "spec.podCIDR");
  const std::size_t dot = range.rfind('.');
  return dot == std::string_view::npos ? "10.255.255." : std::string(range.substr(0, dot + 1));
}

std::string host_address_of(const json::object& node) {
  for (const json::object* one : objects_at(node, "status.addresses")) {
    if (text_at(*one, "type") == "InternalIP") return std::string(text_at(*one, "address"));
  }
  return "127.0.0.1";
}

bool marked_failed(const json::object& node) {
  const json::value* mark = find_annotation(node, kNodeFailedAnnotation);
  return mark != nullptr && text_of(*mark) != "false";
}

LocalKubelets::LocalKubelets(Api& api, WorkQueue& queue, const KubeletOptions& options)
    : api_(api), queue_(queue), options_(options), kubelets_(options) {
  Store& store = api_.store();
  const std::uint64_t now = store.version();
  store.visit(Kind::node, "", [this](const ObjectPtr& node) { upsert_node(*node); });
  store.visit(Kind::pod, "", [this](const ObjectPtr& pod) { upsert_pod(*pod); });
  auto nodes = store.watch(Kind::node, {}, now, [this](const WatchEvent& event) {
    if (event.change == Change::deleted) {
      forget_node(event.object->name.name);
    } else {
      upsert_node(*event.object);
    }
    return Store::Flow::more;
  });
  auto pods = store.watch(
      Kind::pod, {}, now,
      [this](const WatchEvent& event) {
        if (event.change == Change::deleted) {
          forget_pod(event.object->uid);
        } else {
          upsert_pod(*event.object);
        }
        return Store::Flow::more;
      },
      {}, [this] { arm(); });
  STOWAGE_CHECK(nodes.has_value() && pods.has_value());
  node_watch_ = *std::move(nodes);
  pod_watch_ = *std::move(pods);
  arm();
  queue_.after(kLeaseTick, [this] { renew_leases(); });
}

void LocalKubelets::upsert_node(const StoredObject& object) {
  const json::object tree = object.tree();
  const std::string& name = object.name.name;
  Node& node = nodes_[name];
  node.host_ip = host_address_of(tree);
  node.pod_prefix = pod_prefix_of(tree);
  admission_.set_node(name, supply_of(tree));
  if (marked_failed(tree)) return kubelets_.node_down(name);
  if (!kubelets_.is_up(name)) {
    kubelets_.node_up(name, queue_.now());
    greet(object);
    arm();
  }
}

// A kubelet that comes back reports its node as ready.
void LocalKubelets::greet(const StoredObject& object) {
  static_cast<void>(api_.update(
      Kind::node, object.name, Part::status, [&](json::object& tree) -> ApiResult<bool> {
        const json::array* conditions = array_at(tree, "status.conditions");
        const bool ready = conditions != nullptr &&
                           std::any_of(conditions->begin(), conditions->end(), [](const auto& one) {
                             return one.is_object() &&
                                    text_at(one.get_object(), "type") == "Ready" &&
                                    text_at(one.get_object(), "status") == "True";
                           });
        if (ready) return false;
        set_node_ready(make_object(tree, "status"), queue_.now());
        return true;
      }));
}

void LocalKubelets::forget_node(const std::string& name) {
  kubelets_.node_down(name);
  admission_.forget_node(name);
  nodes_.erase(name);
  static_cast<void>(api_.remove(Kind::lease, lease_name(name)));
}

void LocalKubelets::upsert_pod(const StoredObject& object) {
  const std::string_view node = object.field("spec.nodeName");
  if (node.empty()) return;
  const std::string_view phase = object.field("status.phase");
  if (phase == "Succeeded" || phase == "Failed") admission_.release(object.uid);
  kubelets_.upsert({object.name, object.uid, std::string(node), std::string(phase), object.deleting,
                    [&] {
                      const json::object tree = object.tree();
                      if (phase == "Running") admission_.count(std::string(node), object.uid, tree);
                      return plan_of(tree, options_);
                    }},
                   queue_.now());
}

void LocalKubelets::forget_pod(const std::string& uid) {
  kubelets_.gone(uid);
  admission_.release(uid);
}

void LocalKubelets::arm() {
  const auto next = kubelets_.next();
  if (!next || (armed_ && armed_for_ <= *next)) return;
  armed_ = true;
  armed_for_ = *next;
  queue_.at(*next, [this, when = *next] {
    if (!armed_ || armed_for_ != when) return;  // replaced by an earlier timer
    armed_ = false;
    work();
  });
}

void LocalKubelets::work() {
  for (const KubeletTask& task : kubelets_.take_due(queue_.now(), kSlice)) act(task);
  arm();
}

void LocalKubelets::act(const KubeletTask& task) {
  bool done = true;
  switch (task.action) {
    case KubeletAction::start: done = start(task); break;
    case KubeletAction::finish: done = finish(task); break;
    case KubeletAction::remove: {
      const auto removed =
          api_.remove(Kind::pod, task.pod, {.grace_seconds = 0, .preconditions = {task.uid, ""}});
      // A pod that is gone, or replaced by another of its name, counts as removed.
      done = removed || removed.error().code == 404 || removed.error().code == 409;
      break;
    }
  }
  if (!done) kubelets_.again(task, queue_.now() + kPauseAfterFailure);
}

PodStart LocalKubelets::start_of(Node& node, const json::object& pod) {
  const bool host = true_at(pod, "spec.hostNetwork");
  return {node.host_ip, host ? node.host_ip : pod_address(node.pod_prefix, node.pods++),
          queue_.now()};
}

bool LocalKubelets::start(const KubeletTask& task) {
  const auto node = nodes_.find(task.node);
  if (node == nodes_.end()) return false;
  PodPlan plan;
  bool current = false;
  const auto written =
      api_.update(Kind::pod, task.pod, Part::status, [&](json::object& pod) -> ApiResult<bool> {
        current = text_at(pod, "metadata.uid") == task.uid;
        if (!current) return false;
        json::object status(make_object(pod, "status"), pod.storage());
        if (const auto refusal = admission_.admit(task.node, task.uid, pod)) {
          set_refused(status, *refusal, queue_.now());
        } else {
          plan = plan_of(pod, options_);
          set_running(status, pod, start_of(node->second, pod));
        }
        pod["status"] = std::move(status);
        return true;
      });
  if (!written) return written.error().code == 404;
  if (current) kubelets_.done(task, plan, queue_.now());
  return true;
}

bool LocalKubelets::finish(const KubeletTask& task) {
  const auto written =
      api_.update(Kind::pod, task.pod, Part::status, [&](json::object& pod) -> ApiResult<bool> {
        if (text_at(pod, "metadata.uid") != task.uid) return false;
        json::object status(make_object(pod, "status"), pod.storage());
        set_ended(status, pod, task.exit_code, queue_.now());
        pod["status"] = std::move(status);
        return true;
      });
  if (!written) return written.error().code == 404;
  kubelets_.done(task, {}, queue_.now());
  return true;
}

void LocalKubelets::renew_leases() {
  auto node = nodes_.lower_bound(next_lease_);
  const std::string time = micro_time_text(queue_.now());
  for (std::size_t i = 0; i < kLeasesAtOnce && node != nodes_.end(); ++i, ++node) {
    const std::string& name = node->first;
    if (!kubelets_.is_up(name)) continue;
    const ObjectName lease = lease_name(name);
    if (api_.store().get(Kind::lease, lease) == nullptr) {
      const ObjectPtr owner = api_.store().get(Kind::node, {"", name});
      if (owner == nullptr) continue;
      json::object made{
          {"metadata",
           {{"name", name},
            {"ownerReferences",
             {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"uid", owner->uid}}}}}},
          {"spec",
           {{"holderIdentity", name},
            {"leaseDurationSeconds", kLeaseSeconds},
            {"renewTime", time}}}};
      static_cast<void>(api_.create(Kind::lease, lease.ns, std::move(made)));
      continue;
    }
    static_cast<void>(
        api_.update(Kind::lease, lease, Part::whole, [&](json::object& tree) -> ApiResult<bool> {
          make_object(tree, "spec")["renewTime"] = time;
          return true;
        }));
  }
  const bool round = node == nodes_.end();
  next_lease_ = round ? "" : node->first;
  queue_.after(round ? kLeaseRest : kLeaseTick, [this] { renew_leases(); });
}

}  // namespace stowage::local
