#include "metricsapi/schedule.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace stowage::metricsapi {
namespace {

using ResponderPtr = std::shared_ptr<net::Responder>;
using Dropped = std::map<std::string, std::string_view>;  // reason, by node

// kube-scheduler counts nodes by these texts: they are equal for all nodes.
constexpr std::string_view kSilent =
    "the node's agent is silent: the state of its cards is unknown";
constexpr std::string_view kUnheard = "no agent has reported the cards of the node";

bool names_model(const dialect::PodObject& pod) {
  return std::any_of(pod.annotations.begin(), pod.annotations.end(), [](const auto& annotation) {
    const auto& [key, text] = annotation;
    return (key == "nvidia.com/gpu.model" || key == "nvidia-gpu-scheduler/gpu.model") &&
           !normal_model(text).empty();
  });
}

net::HttpResponse unreadable(const std::string& why) {
  return refusal({.code = 502,
                  .reason = "InternalError",
                  .message = "the extender's answer cannot be read: " + why});
}

// The extender's answer to filter, with the nodes that were dropped before.
net::HttpResponse filtered(const net::HttpResponse& answer, const Dropped& dropped) {
  codec::ExtenderDecoder decoder;
  const auto read = decoder.filter_answer(answer.body);
  if (!read) return unreadable(read.error().message);
  codec::FilterResult result;
  std::vector<std::string_view> names;
  std::vector<std::string_view> nodes;
  if (read->node_names) {
    names.assign(read->node_names->begin(), read->node_names->end());
    result.node_names = &names;
  }
  if (read->nodes) {
    for (const codec::RawNode& node : *read->nodes) nodes.push_back(node.json);
    result.nodes = &nodes;
  }
  result.failed.assign(read->failed.begin(), read->failed.end());
  std::map<std::string_view, std::string_view> unresolvable(read->unresolvable.begin(),
                                                            read->unresolvable.end());
  unresolvable.insert(dropped.begin(), dropped.end());
  result.unresolvable.assign(unresolvable.begin(), unresolvable.end());
  result.error = read->error;
  return json_answer(codec::encode(result));
}

net::HttpResponse prioritized(const net::HttpResponse& answer, const Dropped& dropped) {
  codec::ExtenderDecoder decoder;
  const auto read = decoder.priorities(answer.body);
  if (!read) return unreadable(read.error().message);
  std::vector<codec::HostScore> scores;
  for (const codec::NodeScore& score : *read) scores.push_back({score.node, score.score});
  for (const auto& [node, why] : dropped) scores.push_back({node, 0});
  return json_answer(codec::encode_priorities(scores));
}

net::HttpResponse none_left(ScheduleVerb verb, const codec::ExtenderArgs& args,
                            const Dropped& dropped) {
  net::HttpResponse nothing;
  if (verb == ScheduleVerb::prioritize) {
    nothing.body = "[]";
    return prioritized(nothing, dropped);
  }
  const std::vector<std::string_view> empty;
  nothing.body = codec::encode(
      {.node_names = args.node_names ? &empty : nullptr, .nodes = args.nodes ? &empty : nullptr});
  return filtered(nothing, dropped);
}

}  // namespace

std::string_view Schedule::trouble_of(const std::string& node) const {
  const reports::NodeReport* node_report = report_cache_.node_report(node);
  if (node_report == nullptr) return kUnheard;
  return node_report->silent ? kSilent : std::string_view();
}

void Schedule::serve(ScheduleVerb verb, std::string body, const ResponderPtr& responder) {
  if (!door_.ask) {
    return responder->send(refusal({.code = 501,
                                    .reason = "NotImplemented",
                                    .message = "no extender is configured for this API"}));
  }
  if (verb == ScheduleVerb::preempt) return preempt(std::move(body), responder);
  judge(verb, std::move(body), responder);
}

// filter and prioritize
void Schedule::judge(ScheduleVerb verb, std::string body, const ResponderPtr& responder) {
  auto args = decoder_.args(body);  // points into the body
  if (!args) return responder->send(refusal(bad_request(args.error().message)));
  Dropped dropped;
  if (args->pod && names_model(*args->pod)) {
    const auto drop = [&](const std::string& node) {
      const std::string_view why = trouble_of(node);
      if (!why.empty()) dropped.emplace(node, why);
      return !why.empty();
    };
    if (args->node_names) std::erase_if(*args->node_names, drop);
    if (args->nodes) {
      std::erase_if(*args->nodes, [&](const codec::RawNode& node) { return drop(node.name); });
    }
  }
  if (dropped.empty()) {
    return door_.ask(verb, std::move(body),
                     [responder](net::HttpResponse answer) { responder->send(std::move(answer)); });
  }
  const bool left =
      (args->node_names && !args->node_names->empty()) || (args->nodes && !args->nodes->empty());
  if (!left) return responder->send(none_left(verb, *args, dropped));
  std::string fewer = codec::encode_args(*args);
  door_.ask(verb, std::move(fewer),
            [verb, responder, dropped = std::move(dropped)](net::HttpResponse answer) {
              if (answer.status != 200) return responder->send(std::move(answer));
              responder->send(verb == ScheduleVerb::filter ? filtered(answer, dropped)
                                                           : prioritized(answer, dropped));
            });
}

// Nothing is held for a pod that may evict others, so nodes may be left out of the answer.
void Schedule::preempt(std::string body, const ResponderPtr& responder) {
  const auto args = decoder_.preemption(body);
  if (!args) return responder->send(refusal(bad_request(args.error().message)));
  std::vector<std::string> dropped;
  if (args->pod && names_model(*args->pod)) {
    for (const auto& [node, victims] : args->victims) {
      if (!trouble_of(node).empty()) dropped.push_back(node);
    }
  }
  door_.ask(ScheduleVerb::preempt, std::move(body),
            [responder, dropped = std::move(dropped)](net::HttpResponse answer) {
              if (answer.status != 200 || dropped.empty()) {
                return responder->send(std::move(answer));
              }
              codec::ExtenderDecoder decoder;
              auto read = decoder.preemption(answer.body);
              if (!read) return responder->send(unreadable(read.error().message));
              for (const std::string& node : dropped) read->victims.erase(node);
              responder->send(json_answer(codec::encode_preemption_result(read->victims)));
            });
}

}  // namespace stowage::metricsapi
