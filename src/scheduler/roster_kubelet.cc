// The roster's part about what kubelets say: which devices they have really given to a pod.
#include <utility>

#include <fmt/format.h>

#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

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
    const std::uint64_t hash = base::keyed_hash(hash_key_, joined({ids.begin(), ids.end()}));
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
  KubeletPod& kept = kubelets_[pod];
  kept = {.node = node_name, .word = std::move(word)};
  const auto uid = uids_.find(pod);
  if (uid != uids_.end()) ask_kubelet(uid->second, pods_.at(uid->second));
}

void Roster::kubelet_forgets(const std::string& node_name, const std::string& pod) {
  const auto found = kubelets_.find(pod);
  if (found != kubelets_.end() && found->second.node == node_name) kubelets_.erase(found);
}

void Roster::ask_kubelet(const std::string& uid, PodEntry& entry) {
  const auto said = kubelets_.find(entry.name);
  const core::NodeSpec* on = node(entry.node);
  if (said == kubelets_.end() || on == nullptr || said->second.node != entry.node) return;
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
  const std::uint64_t hash = base::keyed_hash(hash_key_, joined(has));
  const bool astray = (hash == 0 ? 1 : hash) != entry.cards;
  const bool fresh = astray && !entry.astray;
  set_astray(entry, astray);
  if (!fresh) return;
  notice.text = fmt::format(
      "the kubelet of node {} has given it {}, which are not the cards that it was placed on; its "
      "device plugin chooses for itself",
      entry.node, joined(has));
  on_notice_(notice);
}

}  // namespace stowage::scheduler
