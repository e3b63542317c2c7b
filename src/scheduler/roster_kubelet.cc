// The roster's part about what kubelets say: which devices they have really given to a pod.
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

// An agent lists the pods of its kubelet every 2 s. If one list fails after 10 s and the next comes
// after a pause of 10 s and takes 10 s, and the agent has to connect again (15 s), it takes 45 s.
constexpr std::chrono::seconds kSlowestLook{60};

}  // namespace

// Remembers what the pod is known to have, or what it asks for if nobody knows.
void Roster::note_cards(PodEntry& entry, const core::PodSpec& spec,
                        const std::optional<core::NamedAssignment>& cards) {
  if (cards && core::names_cards(*cards)) {
    forget_cards(entry);
    std::set<std::string> ids;
    for (const auto& container : cards->containers) {
      for (const auto& share : container) ids.insert(share.card);
    }
    const std::uint64_t hash = base::keyed_hash(hash_key_, base::join({ids.begin(), ids.end()}));
    entry.cards = hash == 0 ? 1 : hash;
    return;
  }
  if (entry.cards != 0 || entry.asked || !core::asks_for_cards(spec)) return;
  entry.asked = std::make_unique<CardsAsked>();
  for (const core::ContainerSpec& container : spec.containers) {
    entry.asked->containers.push_back(
        {.name = container.name, .phase = container.phase, .gpu = container.gpu});
  }
  ++unnamed_;
}

void Roster::forget_cards(PodEntry& entry) {
  if (entry.asked) --(entry.asked->named ? by_kubelet_ : unnamed_);
  entry.asked.reset();
  entry.cards = 0;
  set_astray(entry, false);
}

void Roster::set_astray(PodEntry& entry, bool astray) {
  if (entry.astray == astray) return;
  entry.astray = astray;
  astray ? ++astray_ : --astray_;
}

void Roster::hear_kubelet(const std::string& node_name, const std::string& pod,
                          dialect::KubeletWord word) {
  const auto [at, first] = kubelets_[node_name].try_emplace(pod);
  Heard& heard = at->second;
  const bool changed = first || heard.word != word;
  heard.word = std::move(word);
  const auto uid = uids_.find(pod);
  const bool here = uid != uids_.end() && pods_.at(uid->second).node == node_name;
  // The same word again may be what the agent found before the pod was replaced.
  if (changed) heard.about = here ? uid->second : std::string();
  if (here) ask_kubelet(uid->second, pods_.at(uid->second));
}

void Roster::hear_agent(const std::string& node_name, bool silent) {
  if (silent) {
    agents_.erase(node_name);
  } else {
    agents_.try_emplace(node_name, clock_.now());
  }
}

// A pod of this name was on the node before, and the word is about that one as far as is known.
bool Roster::doubts(const Heard& heard, const std::string& uid, PodEntry& entry) {
  if (heard.about == uid) return false;
  if (!std::exchange(entry.doubted, true)) {
    const std::int64_t wait = std::chrono::nanoseconds(kSlowestLook).count();
    doubted_.emplace(base::Instant{clock_.now().ns + wait}, uid);
  }
  return true;
}

void Roster::believe_kubelets() {
  const base::Instant now = clock_.now();
  const std::int64_t wait = std::chrono::nanoseconds(kSlowestLook).count();
  while (!doubted_.empty() && doubted_.begin()->first <= now) {
    const std::string uid = doubted_.begin()->second;
    doubted_.erase(doubted_.begin());
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) continue;
    PodEntry& entry = pod->second;
    const auto agent = agents_.find(entry.node);
    const std::int64_t since = agent == agents_.end() ? now.ns : agent->second.ns;
    if (now.ns - since < wait) {  // its agent was silent meanwhile
      doubted_.emplace(base::Instant{since + wait}, uid);
      continue;
    }
    entry.doubted = false;
    const auto its = kubelets_.find(entry.node);
    if (its == kubelets_.end()) continue;
    const auto said = its->second.find(entry.name);
    if (said == its->second.end() || said->second.about == uid) continue;
    said->second.about = uid;
    ask_kubelet(uid, entry);
  }
}

void Roster::kubelet_forgets(const std::string& node_name, const std::string& pod) {
  const auto found = kubelets_.find(node_name);
  if (found == kubelets_.end()) return;
  found->second.erase(pod);
  if (found->second.empty()) kubelets_.erase(found);
}

void Roster::ask_kubelet(const std::string& uid, PodEntry& entry) {
  const auto its = kubelets_.find(entry.node);
  const core::NodeSpec* on = node(entry.node);
  if (its == kubelets_.end() || on == nullptr) return;
  const auto said = its->second.find(entry.name);
  if (said == its->second.end()) return;
  if (said->second.about.empty()) said->second.about = uid;
  if (doubts(said->second, uid, entry)) return;
  const dialect::KubeletWord& word = said->second.word;
  const std::size_t slash = entry.name.find('/');
  Notice notice{.kind = Notice::Kind::astray,
                .ns = entry.name.substr(0, slash),
                .name = entry.name.substr(slash + 1),
                .uid = uid};
  if (entry.asked) {
    const core::PodSpec asked{
        .uid = uid, .name = entry.name, .containers = entry.asked->containers};
    auto cards = dialect::cards_by_kubelet(asked, *on, word);
    if (!cards) {
      if (std::exchange(entry.asked->told, true)) return;
      notice.kind = Notice::Kind::unread_cards;
      notice.text = cards.error().message;
      return on_notice_(notice);
    }
    if (!*cards) return;
    if (!std::exchange(entry.asked->named, true)) {
      --unnamed_;
      ++by_kubelet_;
    }
    mailbox_.put_cards({.uid = uid,
                        .node = entry.node,
                        .containers = entry.asked->containers,
                        .cards = core::by_id(**cards, *on)});
    return;
  }
  const std::vector<std::string> has = dialect::cards_in(word, *on);
  if (has.empty() || entry.cards == 0) return;
  const std::uint64_t hash = base::keyed_hash(hash_key_, base::join(has));
  const bool astray = (hash == 0 ? 1 : hash) != entry.cards;
  const bool fresh = astray && !entry.astray;
  set_astray(entry, astray);
  if (!fresh) return;
  notice.text = fmt::format(
      "the kubelet of node {} has given it {}, which are not the cards that it was placed on; its "
      "device plugin chooses for itself",
      entry.node, base::join(has));
  on_notice_(notice);
}

}  // namespace stowage::scheduler
