#include "rule_checks.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace stowage::faults {
namespace {

// Required anti-affinity counts both ways: that of the pod, and that of existing pods.
std::string broken_apart(const RuleRequest& ask, const MustKnow& must_know) {
  for (const PodView* other : ask.pods) {
    if (other->uid == ask.pod.uid || other->node != ask.pod.node || other->ended()) continue;
    if (other->app != ask.pod.app || other->app.empty() || !must_know(*other)) continue;
    if (ask.pod.rule != Rule::apart && other->rule != Rule::apart) continue;
    return fmt::format("pods {} and {} of {} are both on {}, and must not", ask.pod.name.name,
                       other->name.name, ask.pod.app, ask.pod.node);
  }
  return {};
}

// The first pod of an app may go anywhere; the others must follow it.
std::string broken_together(const RuleRequest& ask, const MustKnow& must_know) {
  bool elsewhere = false;
  for (const PodView* other : ask.pods) {
    if (other->uid == ask.pod.uid || other->app != ask.pod.app || other->node.empty()) continue;
    // A pod that has just ended still existed when this was decided.
    if (other->node == ask.pod.node) return {};
    if (!other->ended() && !other->deleting && must_know(*other)) elsewhere = true;
  }
  if (!elsewhere) return {};
  return fmt::format("pod {} is on {}, and no other of {} ever was", ask.pod.name.name,
                     ask.pod.node, ask.pod.app);
}

// Pods that others bound just now may be unknown: they count where they do no harm. So do pods that
// are not bound: an earlier bind may arrive after this one, or may have failed. Each of them may
// have been expected on one node that has too few.
std::string broken_spread(const RuleRequest& ask, const MustKnow& must_know) {
  std::map<std::string, int> most;   // with those that may be unknown
  std::map<std::string, int> least;  // without them
  for (const NodeView* node : ask.nodes) {
    if (!node->cordoned) most[node->name] = least[node->name] = 0;
  }
  int anywhere = 0;
  for (const PodView* other : ask.pods) {
    if (other->app != ask.pod.app || other->ended()) continue;
    if (most.contains(other->node)) ++most[other->node];
    if (other->node.empty() || !must_know(*other)) {
      ++anywhere;
    } else if (!other->deleting && least.contains(other->node)) {
      ++least[other->node];
    }
  }
  const auto here = least.find(ask.pod.node);
  if (here == least.end()) return {};
  int missing = 0;
  for (const auto& [node, count] : most) {
    if (node != ask.pod.node) missing += std::max(0, here->second - 1 - count);
  }
  if (missing <= anywhere) return {};
  return fmt::format("pod {} makes {} of {} on {}; other nodes lack {}, and {} may be on their way",
                     ask.pod.name.name, here->second, ask.pod.app, ask.pod.node, missing, anywhere);
}

}  // namespace

std::string broken_rule(const RuleRequest& ask, const MustKnow& must_know) {
  if (ask.pod.app.empty()) return {};
  if (std::string why = broken_apart(ask, must_know); !why.empty()) return why;
  if (!ask.steady) return {};
  if (ask.pod.rule == Rule::together) return broken_together(ask, must_know);
  if (ask.pod.rule == Rule::spread) return broken_spread(ask, must_know);
  return {};
}

}  // namespace stowage::faults
