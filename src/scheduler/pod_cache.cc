#include "scheduler/pod_cache.h"

#include <algorithm>
#include <utility>

namespace stowage::scheduler {

Standing standing_of(const dialect::PodObject& object) {
  constexpr std::int32_t kCritical = 2'000'000'000;
  const bool daemon = std::find(object.owner_kinds.begin(), object.owner_kinds.end(),
                                "DaemonSet") != object.owner_kinds.end();
  const bool mirror = object.annotations.contains("kubernetes.io/config.mirror");
  Standing standing{.node = object.node,
                    .priority = object.priority,
                    .has_priority = object.has_priority,
                    .must_stay = object.deleting || object.ended() || daemon || mirror ||
                                 object.priority >= kCritical,
                    .gang = dialect::gang_of(object)};
  for (const char c : object.created) {
    if (c >= '0' && c <= '9' && standing.created < 100'000'000'000'000) {
      standing.created = standing.created * 10 + (c - '0');
    }
  }
  return standing;
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
  clear_wanting(entry);
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

void PodCache::set_wanting(Entry& entry, Wanting wanting) {
  if (!entry.wanting) {
    entry.wanting = std::make_unique<Wanting>();
    ++wanting_;
  }
  *entry.wanting = std::move(wanting);
}

void PodCache::clear_wanting(Entry& entry) {
  if (entry.wanting && entry.node.empty()) --wanting_;
  entry.wanting.reset();
}

std::map<std::string, const Wanting*> PodCache::all_wanting() const {
  std::map<std::string, const Wanting*> all;
  for (const auto& [uid, entry] : pods_) {
    if (entry.wanting && entry.node.empty()) all.emplace(entry.name, entry.wanting.get());
  }
  return all;
}

void PodCache::bind(Entry& entry, const dialect::PodObject& object) {
  clear_wanting(entry);
  if (entry.node.empty()) ++bound_;
  drop(unresolved_, entry);
  if (entry.node != object.node) drop(on_node_, entry);
  entry.node = object.node;
  on_node_[entry.node].insert(*entry.uid);
  entry.standing = std::make_unique<Standing>(standing_of(object));
}

void PodCache::set_unresolved(Entry& entry, Wanting bound) {
  unresolved_[entry.node].insert(*entry.uid);
  entry.wanting = std::make_unique<Wanting>(std::move(bound));
}

std::set<std::string> PodCache::take_unresolved(const std::string& node) {
  const auto found = unresolved_.find(node);
  if (found == unresolved_.end()) return {};
  std::set<std::string> uids = std::move(found->second);
  unresolved_.erase(found);
  return uids;
}

const Wanting* PodCache::wanting(const std::string& uid) const {
  const Entry* entry = find(uid);
  return entry == nullptr || !entry->node.empty() ? nullptr : entry->wanting.get();
}

const Standing* PodCache::standing(const std::string& uid) const {
  const Entry* entry = find(uid);
  return entry == nullptr ? nullptr : entry->standing.get();
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
