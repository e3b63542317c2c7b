#include "metricsapi/shelf.h"

#include <algorithm>
#include <utility>

namespace stowage::metricsapi {
namespace {

// "namespace/name" taken apart.
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

Shelf::Shelf(ShelfOptions options, reports::Book& book, std::function<Now()> clock)
    : options_(options), book_(book), clock_(std::move(clock)) {
  version_ = static_cast<std::uint64_t>(std::max<std::int64_t>(clock_().unix_nanos / 1000, 1));
  for (Side& each : sides_) each.lost = version_;
  for (const reports::NodePage* page : book_.pages()) {
    reports::PageChange all{.cards = true, .health = true};
    for (const auto& [key, pod] : page->pods) all.pods_now.push_back(key);
    on_page(*page, all);
  }
  book_.listen([this, alive = std::weak_ptr<bool>(alive_)](const reports::NodePage& page,
                                                           const reports::PageChange& change) {
    if (!alive.expired()) on_page(page, change);
  });
}

void Shelf::begin_term() {
  const auto now =
      static_cast<std::uint64_t>(std::max<std::int64_t>(clock_().unix_nanos / 1000, 1));
  version_ = std::max(version_ + 1, now);
  for (Side& each : sides_) each.lost = version_;
}

// ---- changes

Shelf::Entry& Shelf::touch(Resource resource, const std::string& name) {
  Side& shelf = side(resource);
  const auto [at, fresh] = shelf.by_name.try_emplace(name);
  Entry& entry = at->second;
  if (!fresh) shelf.by_version.erase(entry.version);
  entry.version = ++version_;
  if (fresh || entry.gone) {
    entry = Entry{.name = name, .version = version_, .born = version_, .tellers = {}};
  }
  entry.changed_unix = clock_().unix_seconds();
  shelf.by_version.emplace_hint(shelf.by_version.end(), entry.version, &entry);
  return entry;
}

void Shelf::bury(Resource resource, const std::string& name) {
  Side& shelf = side(resource);
  const auto found = shelf.by_name.find(name);
  if (found == shelf.by_name.end() || found->second.gone) return;
  Entry& entry = found->second;
  shelf.by_version.erase(entry.version);
  entry.version = ++version_;
  entry.gone = true;
  entry.changed_unix = clock_().unix_seconds();
  shelf.by_version.emplace_hint(shelf.by_version.end(), entry.version, &entry);
  shelf.graves.push_back(entry.version);
  while (shelf.graves.size() > options_.gone_max) {
    const std::uint64_t oldest = shelf.graves.front();
    shelf.graves.pop_front();
    const auto grave = shelf.by_version.find(oldest);  // none: it has come back since
    if (grave == shelf.by_version.end()) continue;
    const std::string forgotten = grave->second->name;
    shelf.by_version.erase(grave);
    shelf.by_name.erase(forgotten);
    shelf.lost = oldest;
  }
}

void Shelf::on_page(const reports::NodePage& page, const reports::PageChange& change) {
  const std::uint64_t before = version_;
  for (const std::string& key : change.pods_gone) untell(page.node, key);
  if (change.cards) {  // what the devices of all its pods are may be known only now
    for (const auto& [key, pod] : page.pods) tell(page, key);
  } else {
    for (const std::string& key : change.pods_now) tell(page, key);
  }
  on_node(page, change);
  if (version_ != before && listener_) listener_();
}

void Shelf::on_node(const reports::NodePage& page, const reports::PageChange& change) {
  if (book_.page(page.node) == nullptr) {  // forgotten
    if (others_.contains(page.node)) {
      touch(Resource::gpu_infos, page.node);
    } else {
      bury(Resource::gpu_infos, page.node);
    }
    return;
  }
  const net::Moment now = clock_().steady;
  const Entry* known = find(Resource::gpu_infos, page.node);
  const bool load_alone =
      !change.cards && !change.health && change.pods_now.empty() && change.pods_gone.empty();
  if (known != nullptr && load_alone && now - known->load_told < options_.load_every) return;
  touch(Resource::gpu_infos, page.node).load_told = now;
}

void Shelf::tell(const reports::NodePage& page, const std::string& key) {
  const auto found = page.pods.find(key);
  if (found == page.pods.end()) return;
  if (!pod_resource(page, found->second)) return untell(page.node, key);
  Entry& entry = touch(Resource::pod_resources, object_name(key));
  std::erase_if(entry.tellers, [&](const auto& teller) { return teller.node == page.node; });
  entry.tellers.push_back({.node = page.node, .pod = key});
}

void Shelf::untell(const std::string& node, const std::string& key) {
  const std::string name = object_name(key);
  const Entry* known = find(Resource::pod_resources, name);
  if (known == nullptr) return;
  const auto is_it = [&](const Entry::Teller& teller) { return teller.node == node; };
  const auto& tellers = known->tellers;
  if (std::none_of(tellers.begin(), tellers.end(), is_it)) return;
  if (tellers.size() == 1) return bury(Resource::pod_resources, name);  // remembers who had it
  if (is_it(tellers.back())) {
    std::erase_if(touch(Resource::pod_resources, name).tellers, is_it);
  } else {
    std::erase_if(side(Resource::pod_resources).by_name.at(name).tellers, is_it);
  }
}

void Shelf::set_others(std::vector<OtherNode> nodes) {
  const std::uint64_t before = version_;
  std::map<std::string, OtherNode> fresh;
  for (OtherNode& node : nodes) {
    std::string name = node.node;
    fresh.insert_or_assign(std::move(name), std::move(node));
  }
  const std::map<std::string, OtherNode> old = std::exchange(others_, std::move(fresh));
  for (const auto& [name, node] : old) {
    if (!others_.contains(name) && book_.page(name) == nullptr) bury(Resource::gpu_infos, name);
  }
  for (const auto& [name, node] : others_) {
    const auto was = old.find(name);
    const bool same = was != old.end() && was->second == node;
    if (!same && book_.page(name) == nullptr) touch(Resource::gpu_infos, name);
  }
  if (version_ != before && listener_) listener_();
}

// ---- looks

const Shelf::Entry* Shelf::next(Resource resource, std::uint64_t after) const {
  const Side& shelf = side(resource);
  const auto found = shelf.by_version.upper_bound(after);
  return found == shelf.by_version.end() ? nullptr : found->second;
}

const Shelf::Entry* Shelf::find(Resource resource, std::string_view name) const {
  const Side& shelf = side(resource);
  const auto found = shelf.by_name.find(name);
  return found == shelf.by_name.end() || found->second.gone ? nullptr : &found->second;
}

std::vector<const Shelf::Entry*> Shelf::all(Resource resource) const {
  std::vector<const Entry*> entries;
  entries.reserve(side(resource).by_name.size());
  for (const auto& [name, entry] : side(resource).by_name) {
    if (!entry.gone) entries.push_back(&entry);
  }
  return entries;
}

Thing Shelf::thing(Resource resource, const Entry& entry, const Now& now) const {
  if (resource == Resource::gpu_infos) {
    const reports::NodePage* page = entry.gone ? nullptr : book_.page(entry.name);
    const auto other = others_.find(entry.name);
    GpuInfo info;
    info.node = entry.name;
    if (page != nullptr) {
      info = gpu_info(*page, now);
    } else if (!entry.gone && other != others_.end()) {
      info = gpu_info(other->second);
    }
    info.version = entry.version;
    return info;
  }
  const Entry::Teller& teller = entry.tellers.back();
  const auto [ns, name] = parts_of(teller.pod);
  PodResource pod{.ns = std::string(ns), .name = std::string(name), .node = teller.node};
  const reports::NodePage* page = entry.gone ? nullptr : book_.page(teller.node);
  if (page != nullptr) {
    const auto reported = page->pods.find(teller.pod);
    if (reported != page->pods.end()) {
      if (auto full = pod_resource(*page, reported->second)) pod = std::move(*full);
    }
  }
  pod.changed_unix = entry.changed_unix;
  pod.version = entry.version;
  return pod;
}

}  // namespace stowage::metricsapi
