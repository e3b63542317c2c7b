#include "local/store.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "local/seal.h"

namespace stowage::local {

struct Store::Watcher {
  Filter filter;
  std::uint64_t next = 0;  // number of the next event to read
  OnEvent on_event;
  OnLost on_lost;
  OnBatch on_batch;
  bool paused = false;
  bool ended = false;
};

struct Store::KindStore {
  std::map<ObjectName, ObjectPtr> objects;
  std::deque<WatchEvent> history;
  std::size_t history_bytes = 0;
  std::uint64_t first = 0;  // number of history.front(); events are numbered from 0
  std::uint64_t floor = 0;  // version of the newest event that is no longer in history
  std::map<std::uint64_t, std::shared_ptr<Watcher>> watchers;  // in the order of registration
  bool pending = false;

  [[nodiscard]] std::uint64_t end() const { return first + history.size(); }
};

namespace {

std::size_t cost_of(const WatchEvent& event) { return event.object->bytes.size() + 512; }

// A past state: what later events have replaced, by name; null where nothing existed.
using Past = std::map<ObjectName, ObjectPtr>;

Past undo(const std::deque<WatchEvent>& history, std::uint64_t at_version) {
  Past past;
  for (auto event = history.rbegin(); event != history.rend(); ++event) {
    if (event->version() <= at_version) break;
    past[event->object->name] = event->previous;
  }
  return past;
}

// Walks objects and past together, from `at` on, while `take` returns true.
template <typename Take>
void walk(const std::map<ObjectName, ObjectPtr>& objects, const Past& past, const ObjectName& from,
          bool behind, const Take& take) {
  auto object = behind ? objects.upper_bound(from) : objects.lower_bound(from);
  auto old = behind ? past.upper_bound(from) : past.lower_bound(from);
  while (object != objects.end() || old != past.end()) {
    const bool use_old =
        old != past.end() && (object == objects.end() || old->first <= object->first);
    const ObjectPtr& chosen = use_old ? old->second : object->second;
    if (chosen != nullptr && !take(chosen)) return;
    if (use_old) {
      if (object != objects.end() && object->first == old->first) ++object;
      ++old;
    } else {
      ++object;
    }
  }
}

}  // namespace

Store::Store(StoreOptions options) : options_(std::move(options)), uids_(options_.seed) {
  STOWAGE_CHECK(options_.now != nullptr);
  version_ = options_.first_version;
  for (std::size_t i = 0; i < kKinds; ++i) {
    kind_stores_.push_back(std::make_unique<KindStore>());
    kind_stores_.back()->floor = version_;
  }
}

Store::~Store() = default;

Store::KindStore& Store::kind_store(Kind kind) {
  return *kind_stores_[static_cast<std::size_t>(kind)];
}

const Store::KindStore& Store::kind_store(Kind kind) const {
  return *kind_stores_[static_cast<std::size_t>(kind)];
}

std::size_t Store::size(Kind kind) const { return kind_store(kind).objects.size(); }

std::string Store::new_uid() {
  const std::uint64_t a = uids_.next();
  const std::uint64_t b = uids_.next();
  // Version 4, variant 1, as random ids are marked.
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU,
                     a & 0xfffU, 0x8000U | ((b >> 48U) & 0x3fffU), b & 0xffff'ffff'ffffU);
}

ObjectPtr Store::get(Kind kind, const ObjectName& name) const {
  const auto& objects = kind_store(kind).objects;
  const auto found = objects.find(name);
  return found == objects.end() ? nullptr : found->second;
}

ApiResult<ListPage> Store::list(Kind kind, const ListQuery& query) const {
  const KindStore& from = kind_store(kind);
  ListPage page;
  page.version = query.at_version == 0 ? version_ : query.at_version;
  Past past;
  if (query.at_version != 0 && query.at_version != version_) {
    if (query.at_version < from.floor) {
      return refuse(
          expired("The provided continue parameter is too old to display a consistent "
                  "list result. You can start a new list without the continue "
                  "parameter."));
    }
    if (query.at_version > version_)
      return refuse(expired(
          fmt::format("Too large resource version: {}, current: {}", query.at_version, version_)));
    past = undo(from.history, query.at_version);
  }
  const Filter& filter = query.filter;
  const bool count = filter.labels.all.empty() && filter.fields.all.empty();
  const ObjectName start = query.after ? *query.after : ObjectName{filter.ns, ""};
  const bool behind = query.after.has_value();
  walk(from.objects, past, start, behind, [&](const ObjectPtr& object) {
    if (!filter.ns.empty() && object->name.ns != filter.ns) return object->name.ns < filter.ns;
    if (!filter.matches(*object)) return true;
    if (query.limit == 0 || page.items.size() < query.limit) {
      page.items.push_back(object);
      return true;
    }
    page.more = true;
    if (count) ++page.remaining;
    return count;
  });
  return page;
}

void Store::visit(Kind kind, std::string_view ns,
                  const std::function<void(const ObjectPtr&)>& visitor) const {
  const auto& objects = kind_store(kind).objects;
  for (auto at = objects.lower_bound({std::string(ns), ""}); at != objects.end(); ++at) {
    if (!ns.empty() && at->first.ns != ns) return;
    visitor(at->second);
  }
}

ApiResult<ObjectPtr> Store::create(Kind kind, const ObjectName& name, json::object object) {
  KindStore& to = kind_store(kind);
  const auto place = to.objects.lower_bound(name);
  if (place != to.objects.end() && place->first == name) {
    return refuse(already_exists(resource_of(kind), name.name));
  }
  json::object& metadata = make_object(object, "metadata");
  if (text_at(metadata, "uid").empty()) metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = time_text(now());
  ObjectPtr made = seal(kind, name, object, version_ + 1);
  ++version_;
  to.objects.emplace_hint(place, name, made);
  record(to, {Change::added, made, nullptr});
  return made;
}

ApiResult<ObjectPtr> Store::update(Kind kind, const ObjectName& name, const json::object& object,
                                   std::uint64_t expected) {
  KindStore& to = kind_store(kind);
  const auto place = to.objects.find(name);
  if (place == to.objects.end()) return refuse(not_found(resource_of(kind), name.name));
  const ObjectPtr previous = place->second;
  if (expected != 0 && expected != previous->version) {
    return refuse(version_conflict(resource_of(kind), name.name));
  }
  ObjectPtr made = seal(kind, name, object, version_ + 1);
  if (same_but_version(*made, *previous)) return previous;
  ++version_;
  place->second = made;
  record(to, {Change::modified, made, previous});
  return made;
}

ApiResult<ObjectPtr> Store::remove(Kind kind, const ObjectName& name) {
  KindStore& from = kind_store(kind);
  const auto place = from.objects.find(name);
  if (place == from.objects.end()) return refuse(not_found(resource_of(kind), name.name));
  const ObjectPtr previous = place->second;
  from.objects.erase(place);
  ObjectPtr last = with_version(*previous, ++version_);
  record(from, {Change::deleted, last, previous});
  return last;
}

ObjectPtr Store::preview(Kind kind, const ObjectName& name, const json::object& object) const {
  const ObjectPtr current = get(kind, name);
  return seal(kind, name, object, current == nullptr ? 0 : current->version);
}

void Store::record(KindStore& to, WatchEvent event) {
  to.history_bytes += cost_of(event);
  to.history.push_back(std::move(event));
  while (to.history.size() > options_.history_events_max ||
         (to.history_bytes > options_.history_bytes_max && to.history.size() > 1)) {
    to.history_bytes -= cost_of(to.history.front());
    to.floor = to.history.front().version();
    to.history.pop_front();
    ++to.first;
  }
  wake(to);
}

ApiResult<Watch> Store::watch(Kind kind, Filter filter, std::uint64_t since, OnEvent on_event,
                              OnLost on_lost, OnBatch on_batch) {
  KindStore& on = kind_store(kind);
  if (since < on.floor) {
    return refuse(expired(fmt::format("too old resource version: {} ({})", since, on.floor)));
  }
  if (since > version_) {
    return refuse(
        expired(fmt::format("resource version {} is newer than the newest, {}: it is not "
                            "of this server; list again",
                            since, version_)));
  }
  auto watcher = std::make_shared<Watcher>();
  watcher->filter = std::move(filter);
  watcher->on_event = std::move(on_event);
  watcher->on_lost = std::move(on_lost);
  watcher->on_batch = std::move(on_batch);
  const auto begin = std::upper_bound(
      on.history.begin(), on.history.end(), since,
      [](std::uint64_t version, const WatchEvent& event) { return version < event.version(); });
  watcher->next = on.first + static_cast<std::uint64_t>(begin - on.history.begin());
  const std::uint64_t id = next_watcher_++;
  const bool behind = watcher->next < on.end();
  on.watchers.emplace(id, std::move(watcher));
  watched_.emplace(id, kind);
  if (behind) wake(on);
  return Watch(this, id);
}

void Store::on_pending(std::function<void()> wake_up) { on_pending_ = std::move(wake_up); }

void Store::wake(KindStore& of) {
  if (of.watchers.empty()) return;
  of.pending = true;
  if (woken_ || delivering_) return;
  woken_ = true;
  if (on_pending_) on_pending_();
}

void Store::deliver(std::size_t events_max) {
  if (delivering_) return;
  delivering_ = true;
  woken_ = false;
  std::size_t left = events_max;
  bool any = true;
  while (any && left > 0) {
    any = false;
    for (const auto& one : kind_stores_) {
      if (!one->pending) continue;
      one->pending = false;
      any = deliver_kind(*one, left) || any;
    }
  }
  delivering_ = false;
  const auto waits = std::find_if(kind_stores_.begin(), kind_stores_.end(),
                                  [](const auto& one) { return one->pending; });
  if (waits != kind_stores_.end()) wake(**waits);
}

bool Store::deliver_kind(KindStore& of, std::size_t& left) {
  bool any = false;
  // Callbacks may add and remove watchers, so no iterator is kept over a call.
  for (auto at = of.watchers.begin(); at != of.watchers.end();) {
    const std::uint64_t id = at->first;
    const std::shared_ptr<Watcher> one = at->second;
    any = deliver_to(of, *one, left) || any;
    at = of.watchers.upper_bound(id);
  }
  return any;
}

bool Store::deliver_to(KindStore& of, Watcher& to, std::size_t& left) {
  bool any = false;
  while (!to.paused && !to.ended && to.next < of.end()) {
    if (left == 0) {
      of.pending = true;
      break;
    }
    --left;
    if (to.next < of.first) {
      to.ended = true;
      if (to.on_lost) to.on_lost();
      return true;
    }
    const WatchEvent event = of.history[static_cast<std::size_t>(to.next - of.first)];
    ++to.next;
    any = true;
    if (to.filter.empty()) {
      to.paused = to.on_event(event) == Flow::pause;
    } else if (const auto seen = seen_through(to.filter, event)) {
      to.paused = to.on_event(*seen) == Flow::pause;
    }
  }
  if (any && !to.ended && to.on_batch) to.on_batch();
  return any;
}

Store::Watcher* Store::watcher(std::uint64_t id) const {
  const auto kind = watched_.find(id);
  if (kind == watched_.end()) return nullptr;
  const auto& watchers = kind_store(kind->second).watchers;
  const auto found = watchers.find(id);
  return found == watchers.end() ? nullptr : found->second.get();
}

void Store::unwatch(std::uint64_t id) {
  if (Watcher* one = watcher(id)) one->ended = true;
  const auto kind = watched_.find(id);
  if (kind == watched_.end()) return;
  kind_store(kind->second).watchers.erase(id);
  watched_.erase(kind);
}

Watch::~Watch() {
  if (store_ != nullptr) store_->unwatch(id_);
}

Watch::Watch(Watch&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), id_(std::exchange(other.id_, 0)) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    if (store_ != nullptr) store_->unwatch(id_);
    store_ = std::exchange(other.store_, nullptr);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

std::uint64_t Watch::delivered() const {
  if (store_ == nullptr) return 0;
  const Store::Watcher* one = store_->watcher(id_);
  if (one == nullptr) return 0;
  const Store::KindStore& of = store_->kind_store(store_->watched_.at(id_));
  if (one->next >= of.end()) return store_->version_;
  if (one->next <= of.first) return of.floor;
  return of.history[static_cast<std::size_t>(one->next - of.first - 1)].version();
}

void Watch::resume() {
  if (store_ == nullptr) return;
  Store::Watcher* one = store_->watcher(id_);
  if (one == nullptr || !one->paused) return;
  one->paused = false;
  store_->wake(store_->kind_store(store_->watched_.at(id_)));
}

}  // namespace stowage::local
