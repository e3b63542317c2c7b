#include "local/kubelet/remote_kubelets.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kube/object_path.h"
#include "local/fleet/fleet.h"
#include "local/kubelet/local_kubelets.h"

namespace stowage::local {
namespace {

constexpr std::chrono::microseconds kPauseAfterFailure = std::chrono::seconds{1};
constexpr net::Duration kDeadline = std::chrono::seconds{30};
constexpr std::size_t kSlice = 256;

// Changes the status of exactly this pod; has no effect on another pod of the same name.
kube::ApiCall status_call(const KubeletTask& task, json::object status) {
  json::object patch;
  patch["metadata"] = {{"uid", task.uid}};
  patch["status"] = std::move(status);
  std::string body;
  append_json(body, patch);
  return {.method = "PATCH",
          .target = kube::core_path(task.pod.ns, "pods", task.pod.name) + "/status",
          .body = std::move(body),
          .content_type = "application/strategic-merge-patch+json"};
}

kube::ApiCall delete_call(const KubeletTask& task) {
  std::string body;
  append_json(body, json::object{{"apiVersion", "v1"},
                                 {"kind", "DeleteOptions"},
                                 {"gracePeriodSeconds", 0},
                                 {"preconditions", {{"uid", task.uid}}}});
  return {.method = "DELETE",
          .target = kube::core_path(task.pod.ns, "pods", task.pod.name),
          .body = std::move(body)};
}

}  // namespace

RemoteKubelets::Sink::Sink(RemoteKubelets& owner, std::string what, std::string_view key, Seen seen,
                           Gone gone)
    : owner_(owner),
      what_(std::move(what)),
      key_(key),
      seen_(std::move(seen)),
      gone_(std::move(gone)) {}

void RemoteKubelets::Sink::on_list_begin() {
  listing_ = true;
  listed_.clear();
}

void RemoteKubelets::Sink::on_item(std::string_view text) { take(text, false); }

void RemoteKubelets::Sink::on_list_end(std::string_view /*version*/) {
  listing_ = false;
  for (const std::string& key : known_) {
    if (!listed_.contains(key)) gone_(key);
  }
  known_ = std::exchange(listed_, {});
  owner_.arm();
}

void RemoteKubelets::Sink::on_event(kube::WatchType type, std::string_view text) {
  take(text, type == kube::WatchType::deleted);
  owner_.arm();
}

void RemoteKubelets::Sink::on_status(const kube::ReflectorStatus& status) {
  if (!status.error.empty()) owner_.complain_(fmt::format("{}: {}", what_, status.error));
}

void RemoteKubelets::Sink::on_bad_line(const std::string& error) {
  owner_.complain_(fmt::format("{}: {}", what_, error));
}

void RemoteKubelets::Sink::take(std::string_view text, bool deleted) {
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return;
  const json::object& object = value->get_object();
  const std::string key(text_at(object, key_));
  if (deleted) {
    known_.erase(key);
    gone_(key);
    return;
  }
  (listing_ ? listed_ : known_).insert(key);
  seen_(object, text);
}

RemoteKubelets::RemoteKubelets(kube::ApiClient& client, const KubeletOptions& options,
                               std::function<WallTime()> now,
                               std::function<void(const std::string&)> complain)
    : client_(client),
      options_(options),
      now_(std::move(now)),
      complain_(std::move(complain)),
      kubelets_(options),
      timer_(client.loop()),
      node_sink_(
          *this, "nodes", "metadata.name",
          [this](const json::object& node, std::string_view) { upsert_node(node); },
          [this](const std::string& name) { forget_node(name); }),
      pod_sink_(
          *this, "pods", "metadata.uid",
          [this](const json::object& pod, std::string_view text) { upsert_pod(pod, text); },
          [this](const std::string& uid) { forget_pod(uid); }),
      node_reflector_(client, {.path = "/api/v1/nodes"}, node_sink_),
      pod_reflector_(client, {.path = "/api/v1/pods", .field_selector = "spec.nodeName!="},
                     pod_sink_) {}

RemoteKubelets::~RemoteKubelets() = default;

void RemoteKubelets::start() {
  node_reflector_.start();
  pod_reflector_.start();
}

void RemoteKubelets::upsert_node(const json::object& node) {
  const std::string name(text_at(node, "metadata.name"));
  Node& known = nodes_[name];
  known.host_ip = host_address_of(node);
  known.pod_prefix = pod_prefix_of(node);
  admission_.set_node(name, supply_of(node));
  if (marked_failed(node)) {
    kubelets_.node_down(name);
  } else if (!kubelets_.is_up(name)) {
    kubelets_.node_up(name, now_());
  }
}

void RemoteKubelets::forget_node(const std::string& name) {
  kubelets_.node_down(name);
  admission_.forget_node(name);
  nodes_.erase(name);
}

void RemoteKubelets::upsert_pod(const json::object& pod, std::string_view text) {
  const std::string uid(text_at(pod, "metadata.uid"));
  const std::string node(text_at(pod, "spec.nodeName"));
  if (uid.empty() || node.empty()) return;
  const std::string phase(text_at(pod, "status.phase"));
  texts_[uid] = text;
  if (phase == "Succeeded" || phase == "Failed") admission_.release(uid);
  kubelets_.upsert({{std::string(text_at(pod, "metadata.namespace")),
                     std::string(text_at(pod, "metadata.name"))},
                    uid,
                    node,
                    phase,
                    !text_at(pod, "metadata.deletionTimestamp").empty(),
                    [&] {
                      if (phase == "Running") admission_.count(node, uid, pod);
                      return plan_of(pod, options_);
                    }},
                   now_());
}

void RemoteKubelets::forget_pod(const std::string& uid) {
  kubelets_.gone(uid);
  admission_.release(uid);
  texts_.erase(uid);
}

void RemoteKubelets::arm() {
  const auto next = kubelets_.next();
  if (!next) return;
  const auto delay = std::max<net::Duration>(*next - now_(), net::Duration::zero());
  timer_.start(delay, [this] { work(); });
}

void RemoteKubelets::work() {
  for (const KubeletTask& task : kubelets_.take_due(now_(), kSlice)) act(task);
  arm();
}

void RemoteKubelets::act(const KubeletTask& task) {
  if (task.action == KubeletAction::remove) {
    return send(task, delete_call(task), [this] { ++counters_.removed; });
  }
  const auto text = texts_.find(task.uid);
  if (text == texts_.end()) return;
  const auto value = parse_json(text->second);
  if (!value || !value->is_object()) return;
  const json::object& pod = value->get_object();
  if (task.action == KubeletAction::start) return start_pod(task, pod);
  json::object status;
  set_ended(status, pod, task.exit_code, now_());
  send(task, status_call(task, std::move(status)), [this, task] {
    ++counters_.ended;
    kubelets_.done(task, {}, now_());
  });
}

void RemoteKubelets::start_pod(const KubeletTask& task, const json::object& pod) {
  const auto found = nodes_.find(task.node);
  if (found == nodes_.end()) return kubelets_.again(task, now_() + kPauseAfterFailure);
  Node& node = found->second;
  json::object status;
  if (const auto refusal = admission_.admit(task.node, task.uid, pod)) {
    set_refused(status, *refusal, now_());
    complain_(fmt::format("pod {}/{} was refused on {}: {}", task.pod.ns, task.pod.name, task.node,
                          refusal->message));
    return send(task, status_call(task, std::move(status)), [this] { ++counters_.refused; });
  }
  const bool host = true_at(pod, "spec.hostNetwork");
  set_running(
      status, pod,
      {node.host_ip, host ? node.host_ip : pod_address(node.pod_prefix, node.pods++), now_()});
  send(task, status_call(task, std::move(status)), [this, task, plan = plan_of(pod, options_)] {
    ++counters_.started;
    kubelets_.done(task, plan, now_());
    arm();
  });
}

void RemoteKubelets::send(const KubeletTask& task, kube::ApiCall call, std::function<void()> done) {
  client_.call(std::move(call), kDeadline,
               [this, task, then = std::move(done)](const kube::CallResult& reply) {
                 settle(task, reply, then);
               });
}

void RemoteKubelets::settle(const KubeletTask& task, const kube::CallResult& reply,
                            const std::function<void()>& done) {
  if (reply && reply->status < 300) return done();
  // The pod is gone, or another pod has its name: nothing is left to do.
  if (reply && (reply->status == 404 || reply->status == 409)) return;
  ++counters_.failed;
  const std::string what = fmt::format("pod {}/{}", task.pod.ns, task.pod.name);
  complain_(reply ? kube::explain(what, *reply)
                  : fmt::format("{}: {}", what, reply.error().message));
  kubelets_.again(task, now_() + kPauseAfterFailure);
  arm();
}

}  // namespace stowage::local
