#include "metricsapi/watch_cache.h"

#include <algorithm>
#include <utility>

namespace stowage::metricsapi {
namespace {

// Splits "namespace/name".
std::pair<std::string_view, std::string_view> parts_of(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

std::string object_name(const std::string& key) {
  const auto [ns, name] = parts_of(key);
  return metricsapi::object_name(ns, name);
}

}  // namespace

WatchCache::WatchCache(WatchCacheOptions options, reports::ReportCache& report_cache,
                       std::function<Now()> clock)
    : options_(options), report_cache_(report_cache), clock_(std::move(clock)) {
  version_ = static_cast<std::uint64_t>(std::max<std::int64_t>(clock_().unix_nanos / 1000, 1));
  for (Side& each : sides_) each.lost = version_;
  for (const reports::NodeReport* node_report : report_cache_.node_reports()) {
    reports::NodeReportChange all{.cards = true, .health = true};
    for (const auto& [key, pod] : node_report->pods) all.pods_now.push_back(key);
    on_node_report(*node_report, all);
  }
  report_cache_.listen(
      [this, alive = std::weak_ptr<bool>(alive_)](const reports::NodeReport& node_report,
                                                  const reports::NodeReportChange& change) {
        if (!alive.expired()) on_node_report(node_report, change);
      });
}

void WatchCache::begin_term() {
  const auto now =
      static_cast<std::uint64_t>(std::max<std::int64_t>(clock_().unix_nanos / 1000, 1));
  version_ = std::max(version_ + 1, now);
  for (Side& each : sides_) each.lost = version_;
}

// ---- changes

WatchCache::Entry& WatchCache::touch(Resource resource, const std::string& name) {
  Side& watch_cache = side(resource);
  const auto [at, fresh] = watch_cache.by_name.try_emplace(name);
  Entry& entry = at->second;
  if (!fresh) watch_cache.by_version.erase(entry.version);
  entry.version = ++version_;
  if (fresh || entry.gone) {
    entry = Entry{.name = name, .version = version_, .born = version_, .tellers = {}};
  }
  entry.changed_unix = clock_().unix_seconds();
  watch_cache.by_version.emplace_hint(watch_cache.by_version.end(), entry.version, &entry);
  return entry;
}

void WatchCache::add_tombstone(Resource resource, const std::string& name) {
  Side& watch_cache = side(resource);
  const auto found = watch_cache.by_name.find(name);
  if (found == watch_cache.by_name.end() || found->second.gone) return;
  Entry& entry = found->second;
  watch_cache.by_version.erase(entry.version);
  entry.version = ++version_;
  entry.gone = true;
  entry.changed_unix = clock_().unix_seconds();
  watch_cache.by_version.emplace_hint(watch_cache.by_version.end(), entry.version, &entry);
  watch_cache.tombstones.push_back(entry.version);
  while (watch_cache.tombstones.size() > options_.gone_max) {
    const std::uint64_t oldest = watch_cache.tombstones.front();
    watch_cache.tombstones.pop_front();
    const auto grave = watch_cache.by_version.find(oldest);  // none: the object exists again
    if (grave == watch_cache.by_version.end()) continue;
    const std::string forgotten = grave->second->name;
    watch_cache.by_version.erase(grave);
    watch_cache.by_name.erase(forgotten);
    watch_cache.lost = oldest;
  }
}

void WatchCache::on_node_report(const reports::NodeReport& node_report,
                                const reports::NodeReportChange& change) {
  const std::uint64_t before = version_;
  for (const std::string& key : change.pods_gone) untell(node_report.node, key);
  if (change.cards) {  // the devices of all its pods may be recognized only now
    for (const auto& [key, pod] : node_report.pods) publish(node_report, key);
  } else {
    for (const std::string& key : change.pods_now) publish(node_report, key);
  }
  on_node(node_report, change);
  if (version_ != before && listener_) listener_();
}

void WatchCache::on_node(const reports::NodeReport& node_report,
                         const reports::NodeReportChange& change) {
  if (report_cache_.node_report(node_report.node) == nullptr) {  // forgotten
    if (others_.contains(node_report.node)) {
      touch(Resource::gpu_infos, node_report.node);
    } else {
      add_tombstone(Resource::gpu_infos, node_report.node);
    }
    return;
  }
  const net::Moment now = clock_().steady;
  const Entry* known = find(Resource::gpu_infos, node_report.node);
  const bool load_alone =
      !change.cards && !change.health && change.pods_now.empty() && change.pods_gone.empty();
  if (known != nullptr && load_alone && now - known->load_told < options_.load_every) return;
  touch(Resource::gpu_infos, node_report.node).load_told = now;
}

void WatchCache::publish(const reports::NodeReport& node_report, const std::string& key) {
  const auto found = node_report.pods.find(key);
  if (found == node_report.pods.end()) return;
  if (!pod_resource(node_report, found->second)) return untell(node_report.node, key);
  Entry& entry = touch(Resource::pod_resources, object_name(key));
  std::erase_if(entry.tellers, [&](const auto& teller) { return teller.node == node_report.node; });
  entry.tellers.push_back({.node = node_report.node, .pod = key});
}

void WatchCache::untell(const std::string& node, const std::string& key) {
  const std::string name = object_name(key);
  const Entry* known = find(Resource::pod_resources, name);
  if (known == nullptr) return;
  const auto is_it = [&](const Entry::Teller& teller) { return teller.node == node; };
  const auto& tellers = known->tellers;
  if (std::none_of(tellers.begin(), tellers.end(), is_it)) return;
  if (tellers.size() == 1)
    return add_tombstone(Resource::pod_resources, name);  // the entry still lists its nodes
  if (is_it(tellers.back())) {
    std::erase_if(touch(Resource::pod_resources, name).tellers, is_it);
  } else {
    std::erase_if(side(Resource::pod_resources).by_name.at(name).tellers, is_it);
  }
}

void WatchCache::set_others(std::vector<OtherNode> nodes) {
  const std::uint64_t before = version_;
  std::map<std::string, OtherNode> fresh;
  for (OtherNode& node : nodes) {
    std::string name = node.node;
    fresh.insert_or_assign(std::move(name), std::move(node));
  }
  const std::map<std::string, OtherNode> old = std::exchange(others_, std::move(fresh));
  for (const auto& [name, node] : old) {
    if (!others_.contains(name) && report_cache_.node_report(name) == nullptr)
      add_tombstone(Resource::gpu_infos, name);
  }
  for (const auto& [name, node] : others_) {
    const auto was = old.find(name);
    const bool same = was != old.end() && was->second == node;
    if (!same && report_cache_.node_report(name) == nullptr) touch(Resource::gpu_infos, name);
  }
  if (version_ != before && listener_) listener_();
}

// ---- reads

const WatchCache::Entry* WatchCache::next(Resource resource, std::uint64_t after) const {
  const Side& watch_cache = side(resource);
  const auto found = watch_cache.by_version.upper_bound(after);
  return found == watch_cache.by_version.end() ? nullptr : found->second;
}

const WatchCache::Entry* WatchCache::find(Resource resource, std::string_view name) const {
  const Side& watch_cache = side(resource);
  const auto found = watch_cache.by_name.find(name);
  return found == watch_cache.by_name.end() || found->second.gone ? nullptr : &found->second;
}

std::vector<const WatchCache::Entry*> WatchCache::all(Resource resource) const {
  std::vector<const Entry*> entries;
  entries.reserve(side(resource).by_name.size());
  for (const auto& [name, entry] : side(resource).by_name) {
    if (!entry.gone) entries.push_back(&entry);
  }
  return entries;
}

ApiObject WatchCache::object(Resource resource, const Entry& entry, const Now& now) const {
  if (resource == Resource::gpu_infos) {
    const reports::NodeReport* node_report =
        entry.gone ? nullptr : report_cache_.node_report(entry.name);
    const auto other = others_.find(entry.name);
    GpuInfo info;
    info.node = entry.name;
    if (node_report != nullptr) {
      info = gpu_info(*node_report, now);
    } else if (!entry.gone && other != others_.end()) {
      info = gpu_info(other->second);
    }
    info.version = entry.version;
    return info;
  }
  const Entry::Teller& teller = entry.tellers.back();
  const auto [ns, name] = parts_of(teller.pod);
  PodResource pod{.ns = std::string(ns), .name = std::string(name), .node = teller.node};
  const reports::NodeReport* node_report =
      entry.gone ? nullptr : report_cache_.node_report(teller.node);
  if (node_report != nullptr) {
    const auto reported = node_report->pods.find(teller.pod);
    if (reported != node_report->pods.end()) {
      if (auto full = pod_resource(*node_report, reported->second)) pod = std::move(*full);
    }
  }
  pod.changed_unix = entry.changed_unix;
  pod.version = entry.version;
  return pod;
}

}  // namespace stowage::metricsapi
