// preempt: which of the victims that kube-scheduler proposes would really make room on the cards.
#include <algorithm>
#include <set>
#include <utility>

#include "dialect/dialect.h"
#include "extender/call.h"

namespace stowage::extender {
namespace {

using scheduler::PodCache;
using scheduler::Standing;

// May the preemptor evict this pod, as far as priorities go? One without a priority gives way to
// none but the most important pods.
bool outranks(const dialect::PodObject& preemptor, const Standing& other) {
  constexpr std::int32_t kCritical = 2'000'000'000;
  if (!preemptor.has_priority) return false;
  if (!other.has_priority) return preemptor.priority >= kCritical;
  return preemptor.priority > other.priority;
}

struct Candidate {
  std::string uid;
  Standing standing;
};

// The least important first: pods of no gang, then low priority, then young ones.
bool less_important(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::make_tuple(!c.standing.gang.empty(), c.standing.priority, -c.standing.created,
                           c.uid);
  };
  return key(a) < key(b);
}

}  // namespace

void Extender::preempt(const CallPtr& call) {
  auto args = decoder_.preemption(call->request.http.body);
  if (!args) return send_text(call, 400, "cannot read the request: " + args.error().message + "\n");
  call->preemption = std::move(*args);
  if (std::string why = ends_.not_ready(); !why.empty()) {
    return send_text(call, 503, "Stowage cannot answer yet: " + why + "\n");
  }
  const auto echo = [&] {
    send_json(call, codec::encode_preemption_result(call->preemption.victims));
  };
  if (!call->preemption.pod) return echo();
  call->object = std::move(*call->preemption.pod);
  if (call->object.uid.empty()) call->object.uid = call->object.ns + "/" + call->object.name;
  if (!read_spec(*call)) return send_json(call, codec::encode_preemption_result({}));
  if (!core::asks_for_cards(call->spec)) return echo();

  const PodCache& pods = ends_.shared.roster.pods();
  const std::string gang = dialect::gang_of(call->object);
  const auto stays = [&](const Standing& pod) {
    return pod.must_stay || (!gang.empty() && pod.gang == gang);
  };
  call->preempt_ask.pod = call->spec;
  for (const auto& [node, victims] : call->preemption.victims) {
    core::PreemptAsk::OnNode on{.node = node};
    std::set<std::string> given;
    for (std::size_t i = 0; i < victims.uids.size(); ++i) {
      const std::string& uid = victims.uids[i];
      const Standing* known = pods.standing(uid);
      const bool full = i < victims.pods.size();
      if (known == nullptr && !full) continue;  // nobody knows such a pod
      const auto standing = full ? scheduler::standing_of(victims.pods[i]) : *known;
      if (!given.insert(uid).second || stays(standing)) continue;
      on.candidates.push_back({.uid = uid, .given = true});
    }
    std::vector<Candidate> others;
    for (const std::string& uid : pods.pods_on(node)) {
      const Standing* standing = pods.standing(uid);
      if (given.contains(uid) || standing == nullptr || stays(*standing)) continue;
      if (outranks(call->object, *standing)) others.push_back({.uid = uid, .standing = *standing});
    }
    std::sort(others.begin(), others.end(), less_important);
    for (auto& other : others) on.candidates.push_back({.uid = std::move(other.uid)});
    call->preempt_ask.nodes.push_back(std::move(on));
  }
  on_engine(
      call,
      [](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        on.preempt_answer = hearing.engine.preempt(on.preempt_ask);
      },
      [this](const CallPtr& done) { preempted(done); });
}

void Extender::preempted(const CallPtr& call) {
  std::map<std::string, codec::Victims> result;
  for (auto& on : call->preempt_answer.nodes) {
    if (on.victims.empty()) continue;  // kube-scheduler takes that for an error
    codec::Victims& victims = result[on.node];
    const auto original = call->preemption.victims.at(on.node).pdb_violations;
    victims.pdb_violations = std::min<std::int64_t>(original, on.kept) + on.added;
    victims.uids = std::move(on.victims);
  }
  send_json(call, codec::encode_preemption_result(result));
}

}  // namespace stowage::extender
