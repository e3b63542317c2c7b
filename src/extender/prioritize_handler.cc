#include "extender/prioritize_handler.h"

#include <utility>
#include <vector>

#include "core/engine/engine.h"

namespace stowage::extender {

void PrioritizeHandler::handle(Call request) {
  auto call = std::make_shared<PrioritizeCall>(std::move(request));
  if (auto read = read_args(context_, *call); !read) {
    return context_.send_text(*call, 400, read.error().message + "\n");
  }
  if (auto read = context_.read_spec(*call); !read) {
    return context_.send_json(*call, codec::encode_priorities({}));
  }
  const ExtenderOptions& options = context_.options();
  if (!places(options, call->spec)) return score_cpu_nodes(*call);
  if (options.mode == Mode::single_node) {  // filter chose the node
    const ExternalPod* external = parts_.external_pods.find(call->object.uid);
    for (const auto& name : call->ask.nodes) {
      const bool chosen = external != nullptr && external->held_on == name;
      call->scores.push_back(chosen ? core::kMaxScore : 0);
    }
    return answer(*call);
  }
  call->ask.pod = call->spec;
  context_.on_engine(
      std::move(call),
      [hold = hold_time(options)](PrioritizeCall& on,
                                  const scheduler::EventQueue::EngineAccess& access) {
        on.ask.until = hold_until(hold, access.now);
        core::ScoreAnswer answer = access.engine.score(on.ask, access.now, access.out);
        on.scores = std::move(answer.scores);
        on.held = std::move(answer.held);
      },
      [this](const PrioritizeCallPtr& done) { scored(done); });
}

void PrioritizeHandler::scored(const PrioritizeCallPtr& call) {
  if (hold_time(context_.options())) return answer(*call);
  if (!parts_.writer.keep_until_bound(*call, call->held.has_value())) {
    return send_failure(*call, "this replica no longer leads; try again");
  }
  const ExternalPod* external = parts_.external_pods.find(call->object.uid);
  const bool written = call->held && external != nullptr && external->held_on == call->held->node;
  if (!call->held || written) return answer(*call);
  parts_.writer.write(call, [this, call](const std::string& error) {
    error.empty() ? answer(*call) : send_failure(*call, error);
  });
}

void PrioritizeHandler::score_cpu_nodes(const PrioritizeCall& call) {
  std::vector<codec::HostScore> scores;
  scores.reserve(call.ask.nodes.size());
  for (const auto& name : call.ask.nodes) {
    const core::NodeSpec* node = context_.shared().cluster_cache.nodes().find(name);
    const bool prefer =
        context_.options().cpu_nodes_first && node != nullptr && node->cards.empty();
    scores.push_back({.host = name, .score = prefer ? 1 : 0});
  }
  context_.send_json(call, codec::encode_priorities(scores));
}

void PrioritizeHandler::answer(const PrioritizeCall& call) {
  std::vector<codec::HostScore> scores;
  scores.reserve(call.ask.nodes.size());
  for (std::size_t i = 0; i < call.ask.nodes.size(); ++i) {
    scores.push_back({.host = call.ask.nodes[i], .score = call.scores[i]});
  }
  context_.send_json(call, codec::encode_priorities(scores));
}

// kube-scheduler goes on without the scores of an extender that fails.
void PrioritizeHandler::send_failure(const PrioritizeCall& call, const std::string& error) {
  context_.send_text(call, 503, error + "\n");
}

}  // namespace stowage::extender
