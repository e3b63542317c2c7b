#include "kube_scheduler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLookEvery{300};
constexpr seconds kPatience{5};  // with one call: httpTimeout
constexpr seconds kFlush{60};    // of pods that were refused
constexpr seconds kPauseMax{10};
// A node that was answered is bound within this time or not at all: less than a hold lasts.
constexpr seconds kBindWithin{10};

std::optional<Door> door_of(std::string_view scheduler) {
  if (scheduler == "kube-choose") return Door::choose;
  if (scheduler == "kube-bind") return Door::bind;
  if (scheduler == "kube-promise") return Door::promise;
  return std::nullopt;
}

std::vector<std::string> names_in(const json::object& answer) {
  std::vector<std::string> names;
  const json::array* list = local::array_at(answer, "NodeNames");
  if (list == nullptr) return names;
  for (const json::value& each : *list) names.emplace_back(local::text_of(each));
  return names;
}

}  // namespace

KubeScheduler::KubeScheduler(const Plan& plan, ApiSide& side, Ends ends)
    : side_(side), ends_(std::move(ends)), process_(side.world().start()), rng_(plan.seed + 77) {
  look();
}

KubeScheduler::~KubeScheduler() { side_.world().kill(process_); }

void KubeScheduler::look() {
  World& world = side_.world();
  world.after(process_, kLookEvery, [this] { look(); });
  if (side_.down()) return;
  std::vector<std::pair<local::ObjectPtr, Door>> due;
  side_.store().visit(local::Kind::pod, "", [&](const local::ObjectPtr& object) {
    if (object->deleting || !object->field("spec.nodeName").empty()) return;
    const std::string_view phase = object->field("status.phase");
    if (phase == "Succeeded" || phase == "Failed") return;
    const auto door = door_of(object->field("spec.schedulerName"));
    if (!door) return;
    Pod& pod = pods_[object->uid];
    const bool changed = pod.seen != 0 && object->version != pod.seen;
    if (pod.busy || (world.now() < pod.next && !changed)) return;
    due.emplace_back(object, *door);
  });
  for (const auto& [object, door] : due) attempt(object, door);
}

void KubeScheduler::attempt(const local::ObjectPtr& object, Door door) {
  auto turn = std::make_shared<Turn>();
  turn->object = object;
  turn->door = door;
  turn->begun = side_.world().now();
  Pod& pod = pods_[object->uid];
  pod.busy = true;
  pod.seen = 0;
  std::string names;
  side_.store().visit(local::Kind::node, "", [&](const local::ObjectPtr& node) {
    if (node->bytes.find("\"unschedulable\":true") != std::string::npos) return;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ",", node->name.name);
  });
  if (names.empty()) return failed(turn);
  call(turn, extender::Verb::filter,
       fmt::format(R"({{"Pod":{},"NodeNames":[{}]}})", object->bytes, names),
       [this, turn](const json::object& answer) { filtered(turn, answer); });
}

void KubeScheduler::call(const TurnPtr& turn, extender::Verb verb, std::string body,
                         std::function<void(const json::object&)> then) {
  World& world = side_.world();
  auto done = std::make_shared<bool>(false);
  world.after(process_, kPatience, [this, turn, done] {
    if (!std::exchange(*done, true)) failed(turn);
  });
  ends_.ask(turn->door, verb, std::move(body),
            [this, turn, done, then = std::move(then)](const net::HttpResponse& response) {
              World& clock = side_.world();
              clock.after(process_, draw_millis(rng_, 0.1, rng_.below(10) == 0 ? 2000 : 3),
                          [this, turn, done, then, response] {
                            if (std::exchange(*done, true)) return;
                            const auto value = local::parse_json(response.body);
                            const bool good = response.status == 200 && value &&
                                              (value->is_object() || value->is_array());
                            if (!good) return failed(turn);
                            // Scores come as a list: it is of no use here which node is best.
                            then(value->is_object() ? value->get_object() : json::object());
                          });
            });
}

void KubeScheduler::filtered(const TurnPtr& turn, const json::object& answer) {
  ends_.filtered(turn->object->uid);
  if (!local::text_at(answer, "Error").empty()) return failed(turn);
  const std::vector<std::string> names = names_in(answer);
  if (names.empty()) return refused(turn);
  const std::string node = names[rng_.below(names.size())];
  if (turn->door != Door::bind) return bind(turn, node);
  std::string list;
  for (const std::string& each : names) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", each);
  }
  call(turn, extender::Verb::prioritize,
       fmt::format(R"({{"Pod":{},"NodeNames":[{}]}})", turn->object->bytes, list),
       [this, turn, node](const json::object& /*scores*/) { bind(turn, node); });
}

void KubeScheduler::bind(const TurnPtr& turn, const std::string& node) {
  if (turn->door == Door::promise) return bind_myself(turn, node);
  const local::StoredObject& pod = *turn->object;
  call(turn, extender::Verb::bind,
       fmt::format(R"({{"PodName":"{}","PodNamespace":"{}","PodUID":"{}","Node":"{}"}})",
                   pod.name.name, pod.name.ns, pod.uid, node),
       [this, turn](const json::object& answer) {
         if (!local::text_at(answer, "Error").empty()) return failed(turn);
         pods_[turn->object->uid].busy = false;
       });
}

void KubeScheduler::bind_myself(const TurnPtr& turn, const std::string& node) {
  World& world = side_.world();
  // Mostly at once; some pods wait for volumes or for others of their group.
  const double most = rng_.below(5) == 0 ? 9000 : 20;
  world.after(process_, draw_millis(rng_, 0.5, most), [this, turn, node] {
    if (side_.world().now() > turn->begun + kBindWithin || side_.down()) {
      return failed(turn);
    }
    const local::StoredObject& pod = *turn->object;
    net::HttpRequest request;
    request.method = "POST";
    request.target =
        fmt::format("/api/v1/namespaces/{}/pods/{}/binding", pod.name.ns, pod.name.name);
    request.headers.emplace_back("Content-Type", "application/json");
    request.body =
        fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}","uid":"{}"}},)"
                    R"("target":{{"kind":"Node","name":"{}"}}}})",
                    pod.name.name, pod.uid, node);
    const auto response = side_.act("kube-scheduler", request);
    if (response.status != 201) return failed(turn);
    pods_[pod.uid].busy = false;
  });
}

void KubeScheduler::refused(const TurnPtr& turn) {
  Pod& pod = pods_[turn->object->uid];
  pod.busy = false;
  pod.pause = seconds{1};
  pod.seen = turn->object->version;
  pod.next = side_.world().now() + kFlush;
}

void KubeScheduler::failed(const TurnPtr& turn) {
  Pod& pod = pods_[turn->object->uid];
  pod.busy = false;
  pod.next = side_.world().now() + pod.pause;
  pod.pause = std::min<Duration>(2 * pod.pause, kPauseMax);
}

}  // namespace stowage::faults
