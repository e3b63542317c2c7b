#include "scheduler/kubelet_cards.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "core/model/counted.h"

namespace stowage::scheduler {
namespace {

// The longest time until an agent reports again. It lists the pods of its kubelet every 2 s. One
// list fails after 10 s, the next starts after a pause of 10 s and takes 10 s, and the agent
// reconnects (15 s): 45 s in all.
constexpr std::int64_t kSlowestLook = std::chrono::nanoseconds(std::chrono::seconds{60}).count();

}  // namespace

std::uint64_t KubeletCards::hash_of(const std::vector<std::string>& ids) const {
  const std::uint64_t hash = base::keyed_hash(hash_key_, base::join(ids));
  return hash == 0 ? 1 : hash;
}

void KubeletCards::set_cards(Pod& pod, const Bound& bound) {
  std::set<std::string> ids;
  if (bound.cards) {
    for (const auto& container : bound.cards->containers) {
      for (const auto& share : container) ids.insert(share.card);
    }
  }
  const bool counted = std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    return core::counted_card(bound.node, id);
  });
  if (ids.empty() || counted) return ask_kubelet(pod, bound.spec, counted);
  forget(pod);
  pod.cards_ = hash_of({ids.begin(), ids.end()});
}

void KubeletCards::ask_kubelet(Pod& pod, const core::PodSpec& spec, bool counted) {
  if (counted && pod.cards_ != 0) forget(pod);
  if (pod.cards_ != 0 || pod.asked_ || !core::asks_for_cards(spec)) return;
  pod.asked_ = std::make_unique<Pod::Asked>();
  pod.asked_->counted = counted;
  for (const core::ContainerSpec& container : spec.containers) {
    pod.asked_->containers.push_back(
        {.name = container.name, .phase = container.phase, .gpu = container.gpu});
  }
  if (!counted) ++unnamed_;
}

void KubeletCards::forget(Pod& pod) {
  if (pod.asked_ && pod.asked_->named) {
    --by_kubelet_;
  } else if (pod.asked_ && !pod.asked_->counted) {
    --unnamed_;
  }
  pod.asked_.reset();
  pod.cards_ = 0;
  set_mismatched(pod, false);
}

void KubeletCards::set_mismatched(Pod& pod, bool mismatched) {
  if (std::exchange(pod.mismatched_, mismatched) == mismatched) return;
  mismatched ? ++mismatched_ : --mismatched_;
}

void KubeletCards::set_allocation(const About& about, dialect::KubeletAllocation allocation) {
  const auto [at, first] = allocations_[about.node].try_emplace(about.name);
  Reported& heard = at->second;
  const bool changed = first || heard.allocation != allocation;
  heard.allocation = std::move(allocation);
  // The same report again may be from before the pod was replaced.
  if (changed) heard.about = about.uid;
}

void KubeletCards::forget_allocation(const std::string& node, const std::string& pod) {
  const auto found = allocations_.find(node);
  if (found == allocations_.end()) return;
  found->second.erase(pod);
  if (found->second.empty()) allocations_.erase(found);
}

void KubeletCards::forget_node(const std::string& node) {
  allocations_.erase(node);
  agents_.erase(node);
}

void KubeletCards::set_agent_silent(const std::string& node, bool silent) {
  if (silent) {
    agents_.erase(node);
  } else {
    agents_.try_emplace(node, now_());
  }
}

KubeletCards::Reported* KubeletCards::allocation_of(const Where& where) {
  if (where.node == nullptr) return nullptr;
  const auto its = allocations_.find(where.node->name);
  if (its == allocations_.end()) return nullptr;
  const auto said = its->second.find(where.name);
  return said == its->second.end() ? nullptr : &said->second;
}

void KubeletCards::mark_unconfirmed(const Where& where, Pod& pod, base::Instant since) {
  if (std::exchange(pod.unconfirmed_, true)) return;
  unconfirmed_.emplace(base::Instant{since.ns + kSlowestLook}, where.uid);
}

std::vector<std::string> KubeletCards::take_unconfirmed() {
  std::vector<std::string> uids;
  while (!unconfirmed_.empty() && unconfirmed_.begin()->first <= now_()) {
    uids.push_back(std::move(unconfirmed_.extract(unconfirmed_.begin()).value().second));
  }
  return uids;
}

KubeletCards::Finding KubeletCards::confirm(const Where& where, Pod& pod) {
  pod.unconfirmed_ = false;
  Reported* said = allocation_of(where);
  if (said == nullptr || said->about == where.uid) return {};
  const base::Instant now = now_();
  const auto agent = agents_.find(where.node->name);
  const base::Instant since = agent == agents_.end() ? now : agent->second;
  if (now.ns - since.ns < kSlowestLook) {  // its agent was silent meanwhile
    mark_unconfirmed(where, pod, since);
    return {};
  }
  said->about = where.uid;
  return compare(where, pod);
}

KubeletCards::Finding KubeletCards::compare(const Where& where, Pod& pod) {
  Reported* said = allocation_of(where);
  if (said == nullptr) return {};
  if (said->about.empty()) said->about = where.uid;
  if (said->about != where.uid) {  // as far as is known, it is about the previous pod of this name
    mark_unconfirmed(where, pod, now_());
    return {};
  }
  if (pod.asked_) return name_cards(where, pod, said->allocation);
  const std::vector<std::string> has = dialect::cards_in(said->allocation, *where.node);
  if (has.empty() || pod.cards_ == 0) return {};
  const bool mismatched = hash_of(has) != pod.cards_;
  const bool fresh = mismatched && !pod.mismatched_;
  set_mismatched(pod, mismatched);
  if (!fresh) return {};
  return {.notice = notice_of(
              Notice::Kind::device_mismatch, where,
              fmt::format("the kubelet of node {} gave it {}, which are not the cards that it was "
                          "assigned; its device plugin chooses cards on its own",
                          where.node->name, base::join(has)))};
}

// Only the kubelet reports which cards the pod has.
KubeletCards::Finding KubeletCards::name_cards(const Where& where, Pod& pod,
                                               const dialect::KubeletAllocation& allocation) {
  const core::PodSpec asked{
      .uid = where.uid, .name = where.name, .containers = pod.asked_->containers};
  auto cards = dialect::cards_by_kubelet(asked, *where.node, allocation);
  if (!cards) {
    if (std::exchange(pod.asked_->told, true)) return {};
    return {.notice = notice_of(Notice::Kind::unread_cards, where, cards.error().message)};
  }
  if (!*cards) return {};
  if (!std::exchange(pod.asked_->named, true)) {
    if (!pod.asked_->counted) --unnamed_;
    ++by_kubelet_;
  }
  return {.cards = core::CardsNamed{.uid = where.uid,
                                    .node = where.node->name,
                                    .containers = pod.asked_->containers,
                                    .cards = core::by_id(**cards, *where.node)}};
}

Notice KubeletCards::notice_of(Notice::Kind kind, const Where& where, std::string text) {
  const base::SplitName parts = base::split_name(where.name);
  return {.kind = kind,
          .ns = std::string(parts.ns),
          .name = std::string(parts.name),
          .uid = where.uid,
          .text = std::move(text)};
}

}  // namespace stowage::scheduler
