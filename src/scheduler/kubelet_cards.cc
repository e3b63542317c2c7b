#include "scheduler/kubelet_cards.h"

#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace stowage::scheduler {
namespace {

// An agent lists the pods of its kubelet every 2 s. If one list fails after 10 s and the next comes
// after a pause of 10 s and takes 10 s, and the agent has to connect again (15 s), it takes 45 s.
constexpr std::int64_t kSlowestLook = std::chrono::nanoseconds(std::chrono::seconds{60}).count();

}  // namespace

std::uint64_t KubeletCards::hash_of(const std::vector<std::string>& ids) const {
  const std::uint64_t hash = base::keyed_hash(hash_key_, base::join(ids));
  return hash == 0 ? 1 : hash;
}

void KubeletCards::set_cards(Pod& pod, const core::PodSpec& spec,
                             const std::optional<core::NamedAssignment>& cards) {
  if (cards && core::names_cards(*cards)) {
    forget(pod);
    std::set<std::string> ids;
    for (const auto& container : cards->containers) {
      for (const auto& share : container) ids.insert(share.card);
    }
    pod.cards_ = hash_of({ids.begin(), ids.end()});
    return;
  }
  if (pod.cards_ != 0 || pod.asked_ || !core::asks_for_cards(spec)) return;
  pod.asked_ = std::make_unique<Pod::Asked>();
  for (const core::ContainerSpec& container : spec.containers) {
    pod.asked_->containers.push_back(
        {.name = container.name, .phase = container.phase, .gpu = container.gpu});
  }
  ++unnamed_;
}

void KubeletCards::forget(Pod& pod) {
  if (pod.asked_) --(pod.asked_->named ? by_kubelet_ : unnamed_);
  pod.asked_.reset();
  pod.cards_ = 0;
  set_astray(pod, false);
}

void KubeletCards::set_astray(Pod& pod, bool astray) {
  if (std::exchange(pod.astray_, astray) == astray) return;
  astray ? ++astray_ : --astray_;
}

void KubeletCards::set_word(const About& about, dialect::KubeletWord word) {
  const auto [at, first] = words_[about.node].try_emplace(about.name);
  Heard& heard = at->second;
  const bool changed = first || heard.word != word;
  heard.word = std::move(word);
  // The same word again may be what the agent found before the pod was replaced.
  if (changed) heard.about = about.uid;
}

void KubeletCards::forget_word(const std::string& node, const std::string& pod) {
  const auto found = words_.find(node);
  if (found == words_.end()) return;
  found->second.erase(pod);
  if (found->second.empty()) words_.erase(found);
}

void KubeletCards::forget_node(const std::string& node) {
  words_.erase(node);
  agents_.erase(node);
}

void KubeletCards::hear_agent(const std::string& node, bool silent) {
  if (silent) {
    agents_.erase(node);
  } else {
    agents_.try_emplace(node, now_());
  }
}

KubeletCards::Heard* KubeletCards::word_about(const Where& where) {
  if (where.node == nullptr) return nullptr;
  const auto its = words_.find(where.node->name);
  if (its == words_.end()) return nullptr;
  const auto said = its->second.find(where.name);
  return said == its->second.end() ? nullptr : &said->second;
}

void KubeletCards::doubt(const Where& where, Pod& pod, base::Instant since) {
  if (std::exchange(pod.doubted_, true)) return;
  doubted_.emplace(base::Instant{since.ns + kSlowestLook}, where.uid);
}

std::vector<std::string> KubeletCards::take_doubted() {
  std::vector<std::string> uids;
  while (!doubted_.empty() && doubted_.begin()->first <= now_()) {
    uids.push_back(std::move(doubted_.extract(doubted_.begin()).value().second));
  }
  return uids;
}

KubeletCards::Finding KubeletCards::believe(const Where& where, Pod& pod) {
  pod.doubted_ = false;
  Heard* said = word_about(where);
  if (said == nullptr || said->about == where.uid) return {};
  const base::Instant now = now_();
  const auto agent = agents_.find(where.node->name);
  const base::Instant since = agent == agents_.end() ? now : agent->second;
  if (now.ns - since.ns < kSlowestLook) {  // its agent was silent meanwhile
    doubt(where, pod, since);
    return {};
  }
  said->about = where.uid;
  return compare(where, pod);
}

KubeletCards::Finding KubeletCards::compare(const Where& where, Pod& pod) {
  Heard* said = word_about(where);
  if (said == nullptr) return {};
  if (said->about.empty()) said->about = where.uid;
  if (said->about != where.uid) {  // it is about the pod of this name before, as far as is known
    doubt(where, pod, now_());
    return {};
  }
  if (pod.asked_) return name_cards(where, pod, said->word);
  const std::vector<std::string> has = dialect::cards_in(said->word, *where.node);
  if (has.empty() || pod.cards_ == 0) return {};
  const bool astray = hash_of(has) != pod.cards_;
  const bool fresh = astray && !pod.astray_;
  set_astray(pod, astray);
  if (!fresh) return {};
  return {.notice = notice_of(
              Notice::Kind::astray, where,
              fmt::format("the kubelet of node {} has given it {}, which are not the cards that it "
                          "was placed on; its device plugin chooses for itself",
                          where.node->name, base::join(has)))};
}

// Nothing else says which cards the pod has.
KubeletCards::Finding KubeletCards::name_cards(const Where& where, Pod& pod,
                                               const dialect::KubeletWord& word) {
  const core::PodSpec asked{
      .uid = where.uid, .name = where.name, .containers = pod.asked_->containers};
  auto cards = dialect::cards_by_kubelet(asked, *where.node, word);
  if (!cards) {
    if (std::exchange(pod.asked_->told, true)) return {};
    return {.notice = notice_of(Notice::Kind::unread_cards, where, cards.error().message)};
  }
  if (!*cards) return {};
  if (!std::exchange(pod.asked_->named, true)) {
    --unnamed_;
    ++by_kubelet_;
  }
  return {.cards = core::CardsNamed{.uid = where.uid,
                                    .node = where.node->name,
                                    .containers = pod.asked_->containers,
                                    .cards = core::by_id(**cards, *where.node)}};
}

Notice KubeletCards::notice_of(Notice::Kind kind, const Where& where, std::string text) {
  const std::size_t slash = where.name.find('/');
  return {.kind = kind,
          .ns = where.name.substr(0, slash),
          .name = where.name.substr(slash + 1),
          .uid = where.uid,
          .text = std::move(text)};
}

}  // namespace stowage::scheduler
