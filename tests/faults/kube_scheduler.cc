#include "kube_scheduler.h"

#include <algorithm>
#include <array>
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
// Without volumes, a node that was answered is bound within this time or not at all.
constexpr seconds kBindWithin{10};

std::optional<Listener> listener_of(std::string_view scheduler) {
  if (scheduler == "kube-choose") return Listener::choose;
  if (scheduler == "kube-bind") return Listener::bind;
  if (scheduler == "kube-promise") return Listener::pre_allocation;
  if (scheduler == "kube-count") return Listener::count;
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

KubeScheduler::KubeScheduler(const Plan& plan, ApiSide& side, Views& views, Deps deps)
    : plan_(plan),
      side_(side),
      views_(views),
      deps_(std::move(deps)),
      process_(side.world().start()),
      rng_(plan.seed + 77) {
  look();
}

KubeScheduler::~KubeScheduler() { side_.world().kill(process_); }

void KubeScheduler::restart() {
  side_.world().kill(process_);
  process_ = side_.world().start();
  pods_.clear();
  assumed_.clear();
  side_.world().after(process_, kLookEvery, [this] { look(); });
}

void KubeScheduler::look() {
  World& world = side_.world();
  world.after(process_, kLookEvery, [this] { look(); });
  if (side_.down()) return;
  std::vector<std::pair<local::ObjectPtr, Listener>> due;
  side_.store().visit(local::Kind::pod, "", [&](const local::ObjectPtr& object) {
    if (object->deleting || !object->field("spec.nodeName").empty()) return;
    const std::string_view phase = object->field("status.phase");
    if (phase == "Succeeded" || phase == "Failed") return;
    const auto listener = listener_of(object->field("spec.schedulerName"));
    if (!listener) return;
    Pod& pod = pods_[object->uid];
    const bool changed = pod.seen != 0 && object->version != pod.seen;
    if (pod.busy || (world.now() < pod.next && !changed)) return;
    due.emplace_back(object, *listener);
  });
  for (const auto& [object, listener] : due) attempt(object, listener);
}

void KubeScheduler::attempt(const local::ObjectPtr& object, Listener listener) {
  auto turn = std::make_shared<Turn>();
  turn->object = object;
  turn->listener = listener;
  turn->begun = side_.world().now();
  Pod& pod = pods_[object->uid];
  pod.busy = true;
  pod.seen = 0;
  std::string names;
  const PodView view = view_of(*object);
  for (const NodeView* node : views_.nodes()) {
    if (node->cordoned || !devices_fit(view, *node)) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ",", node->name);
  }
  if (names.empty()) return refused(turn);
  call(turn, extender::Verb::filter,
       fmt::format(R"({{"Pod":{},"NodeNames":[{}]}})", object->bytes, names),
       [this, turn](const json::object& answer) { filtered(turn, answer); });
}

bool KubeScheduler::devices_fit(const PodView& pod, const NodeView& node) {
  return std::all_of(pod.asks.begin(), pod.asks.end(), [&](const auto& ask) {
    const auto offered = node.offers.find(ask.first);
    // A resource that no node has is managed only by the extender.
    if (offered == node.offers.end()) return ask.first.starts_with("stowage.dev/");
    std::int64_t sum = ask.second;
    for (const PodView* other : views_.pods()) {
      const auto assumed = assumed_.find(other->uid);
      const bool here = other->node.empty()
                            ? assumed != assumed_.end() && assumed->second == node.name
                            : other->node == node.name;
      const auto has = other->asks.find(ask.first);
      if (here && !other->ended() && other->uid != pod.uid && has != other->asks.end()) {
        sum += has->second;
      }
    }
    return sum <= offered->second;
  });
}

void KubeScheduler::call(const TurnPtr& turn, extender::Verb verb, std::string body,
                         std::function<void(const json::object&)> then) {
  World& world = side_.world();
  auto done = std::make_shared<bool>(false);
  world.after(process_, kPatience, [this, turn, done] {
    if (!std::exchange(*done, true)) failed(turn);
  });
  deps_.ask(turn->listener, verb, std::move(body),
            [this, process = process_, turn, done,
             then = std::move(then)](const net::HttpResponse& response) {
              World& clock = side_.world();
              clock.after(process, draw_millis(rng_, 0.1, rng_.below(10) == 0 ? 2000 : 3),
                          [this, turn, done, then, response] {
                            if (std::exchange(*done, true)) return;
                            const auto value = local::parse_json(response.body);
                            const bool good = response.status == 200 && value &&
                                              (value->is_object() || value->is_array());
                            if (!good) return failed(turn);
                            // Scores come as a list.
                            then(value->is_object() ? value->get_object()
                                                    : json::object{{"list", value->get_array()}});
                          });
            });
}

void KubeScheduler::filtered(const TurnPtr& turn, const json::object& answer) {
  deps_.filtered(turn->object->uid);
  if (!local::text_at(answer, "Error").empty()) return failed(turn);
  const std::vector<std::string> names = names_in(answer);
  if (names.empty()) return refused(turn);
  turn->cards = cards_on(*turn);
  const std::string node = names[rng_.below(names.size())];
  if (turn->listener != Listener::bind && turn->listener != Listener::count)
    return bind(turn, node);
  std::string list;
  for (const std::string& each : names) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", each);
  }
  call(turn, extender::Verb::prioritize,
       fmt::format(R"({{"Pod":{},"NodeNames":[{}]}})", turn->object->bytes, list),
       [this, turn, node](const json::object& scores) { scored(turn, node, scores); });
}

// Mostly the node with our best score; sometimes other scores outweigh ours.
void KubeScheduler::scored(const TurnPtr& turn, const std::string& any,
                           const json::object& scores) {
  std::string best;
  std::int64_t highest = -1;
  const json::array* list = local::array_at(scores, "list");
  for (const json::value& each : list == nullptr ? json::array() : *list) {
    const std::int64_t score = local::int_at(each.get_object(), "Score").value_or(0);
    if (score <= highest) continue;
    highest = score;
    best = local::text_at(each.get_object(), "Host");
  }
  if (best.empty() || rng_.below(10) == 0) {
    turn->strayed = any != best;
    best = any;
  }
  bind(turn, best);
}

void KubeScheduler::bind(const TurnPtr& turn, const std::string& node) {
  assumed_[turn->object->uid] = node;
  if (turn->listener == Listener::pre_allocation || turn->listener == Listener::count)
    return bind_myself(turn, node);
  const local::StoredObject& pod = *turn->object;
  call(turn, extender::Verb::bind,
       fmt::format(R"({{"PodName":"{}","PodNamespace":"{}","PodUID":"{}","Node":"{}"}})",
                   pod.name.name, pod.name.ns, pod.uid, node),
       [this, turn](const json::object& answer) {
         if (!local::text_at(answer, "Error").empty()) return failed(turn);
         assumed_.erase(turn->object->uid);
         pods_[turn->object->uid].busy = false;
       });
}

// Mostly at once; some pods wait for others of their group, and some for volumes.
Duration KubeScheduler::draw_delay() {
  if (!calm_ && plan_.features.has(Feature::late) && rng_.below(3) != 0) {
    return draw_millis(rng_, 1'000, std::array{60'000.0, 200'000.0, 600'000.0}[rng_.below(3)]);
  }
  return draw_millis(rng_, 0.5, rng_.below(5) == 0 ? 9000 : 20);
}

std::string KubeScheduler::cards_on(const Turn& turn) {
  const local::ObjectPtr pod = side_.store().get(local::Kind::pod, turn.object->name);
  return pod == nullptr || pod->uid != turn.object->uid ? std::string() : view_of(*pod).cards_text;
}

// The cards may be taken off the pod after the answer, but only kube-scheduler's next call may
// replace them.
void KubeScheduler::check_cards(const Turn& turn) {
  if (turn.listener != Listener::pre_allocation) return;
  const std::string now = cards_on(turn);
  if (now.empty() || now == turn.cards) return;
  deps_.replaced(fmt::format("pod {} was answered with {} and has {}", turn.object->name.name,
                             turn.cards, now));
}

void KubeScheduler::bind_myself(const TurnPtr& turn, const std::string& node) {
  const Duration delay = draw_delay();
  const bool gives_up = delay > kBindWithin && rng_.below(6) == 0;
  side_.world().after(process_, delay, [this, turn, node, delay, gives_up] {
    const Duration most = std::max<Duration>(kBindWithin, delay + kBindWithin);
    if (side_.world().now() > turn->begun + most || side_.down() || gives_up) {
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
    // Before the bind is judged: it goes to a node where we held nothing for it.
    if (turn->strayed) deps_.strayed(node);
    check_cards(*turn);
    const auto response = side_.act("kube-scheduler", request);
    if (response.status != 201) return failed(turn);
    assumed_.erase(pod.uid);
    pods_[pod.uid].busy = false;
  });
}

std::uint64_t KubeScheduler::not_scheduled(const local::StoredObject& pod,
                                           std::string_view reason) {
  const auto now = std::chrono::floor<seconds>(side_.wall_time());
  const auto done =
      side_.api().update(local::Kind::pod, pod.name, local::Part::status,
                         [&](json::object& tree) -> local::ApiResult<bool> {
                           json::object& status = local::make_object(tree, "status");
                           if (local::text_at(tree, "metadata.uid") != pod.uid) return false;
                           json::array& conditions = local::make_array(status, "conditions");
                           json::object* found = nullptr;
                           for (json::value& each : conditions) {
                             if (local::text_at(each.get_object(), "type") == "PodScheduled") {
                               found = &each.get_object();
                             }
                           }
                           if (found == nullptr) {
                             conditions.push_back(json::object{{"type", "PodScheduled"}});
                             found = &conditions.back().get_object();
                           }
                           if (local::text_at(*found, "status") == "True") return false;
                           const bool known = local::text_at(*found, "status") == "False";
                           if (known && local::text_at(*found, "reason") == reason) return false;
                           if (!known) (*found)["lastTransitionTime"] = local::time_text(now);
                           (*found)["status"] = "False";
                           (*found)["reason"] = reason;
                           return true;
                         });
  return done ? (*done)->version : 0;
}

void KubeScheduler::refused(const TurnPtr& turn) {
  Pod& pod = pods_[turn->object->uid];
  assumed_.erase(turn->object->uid);
  pod.busy = false;
  pod.pause = seconds{1};
  const std::uint64_t written = not_scheduled(*turn->object, "Unschedulable");
  pod.seen = std::max(turn->object->version, written);
  pod.next = side_.world().now() + kFlush;
}

void KubeScheduler::failed(const TurnPtr& turn) {
  Pod& pod = pods_[turn->object->uid];
  assumed_.erase(turn->object->uid);
  (void)not_scheduled(*turn->object, "SchedulerError");
  pod.busy = false;
  pod.next = side_.world().now() + pod.pause;
  pod.pause = std::min<Duration>(2 * pod.pause, kPauseMax);
}

}  // namespace stowage::faults
