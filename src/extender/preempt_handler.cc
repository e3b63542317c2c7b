#include "extender/preempt_handler.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "dialect/dialect.h"

namespace stowage::extender {
namespace {

using scheduler::PodCache;
using scheduler::PreemptionInfo;

// Whether priorities let the preemptor evict this pod. A pod without a priority gives way to system
// critical pods only.
bool outranks(const dialect::PodObject& preemptor, const PreemptionInfo& other) {
  constexpr std::int32_t kCritical = 2'000'000'000;
  if (!preemptor.has_priority) return false;
  if (!other.has_priority) return preemptor.priority >= kCritical;
  return preemptor.priority > other.priority;
}

struct Candidate {
  std::string uid;
  PreemptionInfo preemption_info;
};

// The least important first: pods of no gang, then low priority, then young ones.
bool less_important(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::make_tuple(!c.preemption_info.gang.empty(), c.preemption_info.priority,
                           -c.preemption_info.created, c.uid);
  };
  return key(a) < key(b);
}

constexpr std::size_t kMaxNodes = 512;  // the engine judges fewer

using VictimsByNode = std::map<std::string, codec::Victims>;

// The nodes that the engine may reach: those with the fewest proposed victims first, then by name.
std::vector<const VictimsByNode::value_type*> nodes_to_judge(const VictimsByNode& all) {
  std::vector<const VictimsByNode::value_type*> nodes;
  nodes.reserve(all.size());
  for (const auto& entry : all) nodes.push_back(&entry);
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) {
    return a->second.uids.size() < b->second.uids.size();
  });
  nodes.resize(std::min(nodes.size(), kMaxNodes));
  return nodes;
}

}  // namespace

void PreemptHandler::handle(Call request) {
  auto call = std::make_shared<PreemptCall>(std::move(request));
  auto args = context_.decoder().preemption(call->request.http.body);
  if (!args) {
    return context_.send_text(*call, 400,
                              "cannot read the request: " + args.error().message + "\n");
  }
  call->args = std::move(*args);
  if (const std::string why = context_.not_ready(); !why.empty()) {
    return context_.send_text(*call, 503, why + "\n");
  }
  const auto echo = [&] {
    context_.send_json(*call, codec::encode_preemption_result(call->args.victims));
  };
  if (!call->args.pod) return echo();
  call->object = std::move(*call->args.pod);
  if (call->object.uid.empty()) call->object.uid = call->object.ns + "/" + call->object.name;
  if (!context_.read_spec(*call)) {
    return context_.send_json(*call, codec::encode_preemption_result({}));
  }
  if (!core::asks_for_cards(call->spec)) return echo();
  call->ask.pod = call->spec;
  for (const auto* on : nodes_to_judge(call->args.victims)) {
    call->ask.nodes.push_back(candidates(*call, on->first, on->second));
  }
  context_.on_engine(
      std::move(call),
      [](PreemptCall& on, const scheduler::EventQueue::EngineAccess& access) {
        on.answer = access.engine.preempt(on.ask);
      },
      [this](const std::shared_ptr<PreemptCall>& done) { answer(*done); });
}

// The proposed victims, then the other pods of the node that the pod outranks, without those that
// must stay and those of its own gang.
core::PreemptRequest::OnNode PreemptHandler::candidates(const PreemptCall& call,
                                                        const std::string& node,
                                                        const codec::Victims& victims) const {
  const PodCache& pods = context_.shared().cluster_cache.pods();
  const std::string gang = dialect::gang_of(call.object);
  const auto stays = [&](const PreemptionInfo& pod) {
    return pod.must_stay || (!gang.empty() && pod.gang == gang);
  };
  core::PreemptRequest::OnNode on{.node = node};
  std::set<std::string> given;
  for (std::size_t i = 0; i < victims.uids.size(); ++i) {
    const std::string& uid = victims.uids[i];
    const PreemptionInfo* known = pods.preemption_info(uid);
    const bool full = i < victims.pods.size();
    if (known == nullptr && !full) continue;
    const auto preemption_info = full ? scheduler::preemption_info_of(victims.pods[i]) : *known;
    if (!given.insert(uid).second || stays(preemption_info)) continue;
    on.candidates.push_back({.uid = uid, .given = true});
  }
  std::vector<Candidate> others;
  for (const std::string& uid : pods.pods_on(node)) {
    const PreemptionInfo* preemption_info = pods.preemption_info(uid);
    if (given.contains(uid) || preemption_info == nullptr || stays(*preemption_info)) continue;
    if (outranks(call.object, *preemption_info))
      others.push_back({.uid = uid, .preemption_info = *preemption_info});
  }
  std::sort(others.begin(), others.end(), less_important);
  for (auto& other : others) on.candidates.push_back({.uid = std::move(other.uid)});
  return on;
}

void PreemptHandler::answer(PreemptCall& call) {
  std::map<std::string, codec::Victims> result;
  for (auto& on : call.answer.nodes) {
    if (on.victims.empty()) continue;  // kube-scheduler takes that for an error
    codec::Victims& victims = result[on.node];
    const auto original = call.args.victims.at(on.node).pdb_violations;
    victims.pdb_violations = std::min<std::int64_t>(original, on.kept) + on.added;
    victims.uids = std::move(on.victims);
  }
  context_.send_json(call, codec::encode_preemption_result(result));
}

}  // namespace stowage::extender
