#include "scheduler/pod_cache.h"

#include <algorithm>
#include <utility>

namespace stowage::scheduler {

PreemptionInfo preemption_info_of(const dialect::PodObject& object) {
  constexpr std::int32_t kCritical = 2'000'000'000;
  const bool daemon = std::find(object.owner_kinds.begin(), object.owner_kinds.end(),
                                "DaemonSet") != object.owner_kinds.end();
  const bool mirror = object.annotations.contains("kubernetes.io/config.mirror");
  PreemptionInfo preemption_info{.node = object.node,
                                 .priority = object.priority,
                                 .has_priority = object.has_priority,
                                 .must_stay = object.deleting || object.ended() || daemon ||
                                              mirror || object.priority >= kCritical,
                                 .gang = dialect::gang_of(object)};
  for (const char c : object.created) {
    if (c >= '0' && c <= '9' && preemption_info.created < 100'000'000'000'000) {
      preemption_info.created = preemption_info.created * 10 + (c - '0');
    }
  }
  return preemption_info;
}

PodCache::Entry* PodCache::find(const std::string& uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const PodCache::Entry* PodCache::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

PodCache::Entry& PodCache::add(const std::string& uid, const std::string& name) {
  const auto [at, fresh] = pods_.try_emplace(uid);
  if (fresh) {
    at->second.uid = &at->first;
    at->second.name = name;
    uids_[name] = uid;
  }
  return at->second;
}

void PodCache::erase(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Entry& entry = found->second;
  clear_pending(entry);
  if (!entry.node.empty()) {
    --bound_;
    drop(on_node_, entry);
    drop(unresolved_, entry);
  }
  const auto named = uids_.find(entry.name);
  if (named != uids_.end() && named->second == uid) uids_.erase(named);
  pods_.erase(found);
}

void PodCache::drop(UidsByNode& uids, const Entry& entry) {
  const auto found = uids.find(entry.node);
  if (found == uids.end()) return;
  found->second.erase(*entry.uid);
  if (found->second.empty()) uids.erase(found);
}

void PodCache::set_pending(Entry& entry, PendingPod pending) {
  if (!entry.pending) {
    entry.pending = std::make_unique<PendingPod>();
    ++pending_;
  }
  *entry.pending = std::move(pending);
}

void PodCache::clear_pending(Entry& entry) {
  if (entry.pending && entry.node.empty()) --pending_;
  entry.pending.reset();
}

std::map<std::string, const PendingPod*> PodCache::all_pending() const {
  std::map<std::string, const PendingPod*> all;
  for (const auto& [uid, entry] : pods_) {
    if (entry.pending && entry.node.empty()) all.emplace(entry.name, entry.pending.get());
  }
  return all;
}

void PodCache::bind(Entry& entry, const dialect::PodObject& object) {
  clear_pending(entry);
  if (entry.node.empty()) ++bound_;
  drop(unresolved_, entry);
  if (entry.node != object.node) drop(on_node_, entry);
  entry.node = object.node;
  on_node_[entry.node].insert(*entry.uid);
  entry.preemption_info = std::make_unique<PreemptionInfo>(preemption_info_of(object));
}

void PodCache::set_unresolved(Entry& entry, PendingPod bound) {
  unresolved_[entry.node].insert(*entry.uid);
  entry.pending = std::make_unique<PendingPod>(std::move(bound));
}

std::set<std::string> PodCache::take_unresolved(const std::string& node) {
  const auto found = unresolved_.find(node);
  if (found == unresolved_.end()) return {};
  std::set<std::string> uids = std::move(found->second);
  unresolved_.erase(found);
  return uids;
}

const PendingPod* PodCache::pending(const std::string& uid) const {
  const Entry* entry = find(uid);
  return entry == nullptr || !entry->node.empty() ? nullptr : entry->pending.get();
}

const PreemptionInfo* PodCache::preemption_info(const std::string& uid) const {
  const Entry* entry = find(uid);
  return entry == nullptr ? nullptr : entry->preemption_info.get();
}

std::vector<std::string> PodCache::pods_on(const std::string& node) const {
  const auto found = on_node_.find(node);
  if (found == on_node_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::string PodCache::uid_of(const std::string& pod) const {
  const auto found = uids_.find(pod);
  return found == uids_.end() ? std::string() : found->second;
}

std::string PodCache::name_of(const std::string& uid) const {
  const Entry* entry = find(uid);
  return entry == nullptr ? std::string() : entry->name;
}

std::string PodCache::called(const Called& pod) const {
  const std::string name = name_of(pod.uid);
  const std::string reader = name_of(pod.reader);
  const std::size_t slash = name.find('/');
  const bool same =
      !name.empty() && slash == reader.find('/') && name.compare(0, slash, reader, 0, slash) == 0;
  return same ? "pod " + name : "a pod of another namespace";
}

}  // namespace stowage::scheduler
