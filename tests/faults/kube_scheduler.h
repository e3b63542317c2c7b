// A small kube-scheduler. It calls the extender about its pods, one call after the other, lets it
// bind or binds itself, and leaves a refused pod alone until the pod changes or a minute has
// passed. Like the real one it checks for free devices before it asks, counts pods that it is about
// to bind, and sets the condition of pods that it has not scheduled. What happens between filter
// and bind (volumes) may take up to ten minutes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api_side.h"
#include "extender/options.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

class KubeScheduler {
 public:
  struct Deps {
    // Sends a request to the replica behind the extender's address. The answer comes once, or
    // never.
    using Answer = std::function<void(const net::HttpResponse&)>;
    std::function<void(Listener, extender::Verb, std::string, Answer)> ask;
    // It has received the filter's answer about this pod.
    std::function<void(const std::string& uid)> filtered;
    // It has bound a pod to this node, where nothing was held for it.
    std::function<void(const std::string& node)> strayed;
    // The pod has other cards than those that were answered.
    std::function<void(const std::string& what)> replaced;
  };
  KubeScheduler(const Plan& plan, ApiSide& side, Views& views, Deps deps);
  ~KubeScheduler();
  KubeScheduler(const KubeScheduler&) = delete;
  KubeScheduler& operator=(const KubeScheduler&) = delete;

  // It forgets all turns and begins again: answers to its earlier calls are lost.
  void restart();
  // It binds without delay from now on.
  void calm() { calm_ = true; }

 private:
  struct Pod {
    bool busy = false;
    Moment next{};           // when to try again in any case
    std::uint64_t seen = 0;  // version that was refused
    Duration pause = std::chrono::seconds{1};
  };
  struct Turn {  // one attempt at one pod
    local::ObjectPtr object;
    Listener listener = Listener::choose;
    Moment begun;
    bool strayed = false;  // bound to another node than the one with the hold
    std::string cards;     // on the pod when the filter's answer came
  };
  using TurnPtr = std::shared_ptr<Turn>;

  void look();
  void attempt(const local::ObjectPtr& object, Listener listener);
  // One call of the extender, with kube-scheduler's timeout.
  void call(const TurnPtr& turn, extender::Verb verb, std::string body,
            std::function<void(const json::object&)> then);
  void filtered(const TurnPtr& turn, const json::object& answer);
  void scored(const TurnPtr& turn, const std::string& any, const json::object& scores);
  void bind(const TurnPtr& turn, const std::string& node);
  void bind_myself(const TurnPtr& turn, const std::string& node);
  void refused(const TurnPtr& turn);
  void failed(const TurnPtr& turn);
  // Writes the condition if it differs; returns the version of the pod afterwards.
  std::uint64_t not_scheduled(const local::StoredObject& pod, std::string_view reason);
  // True if the node offers the devices that the pod requests.
  [[nodiscard]] bool devices_fit(const PodView& pod, const NodeView& node);
  [[nodiscard]] Duration draw_delay();
  // The cards that are named on the pod now; empty: none, or the pod is gone.
  [[nodiscard]] std::string cards_on(const Turn& turn);
  void check_cards(const Turn& turn);

  const Plan& plan_;
  ApiSide& side_;
  Views& views_;
  Deps deps_;
  World::Process process_;
  base::Rng rng_;
  std::map<std::string, Pod> pods_;             // by uid
  std::map<std::string, std::string> assumed_;  // by uid: nodes of pods that are being bound
  bool calm_ = false;
};

}  // namespace stowage::faults
