#include "scheduler/event_queue.h"

#include <utility>

namespace stowage::scheduler {
namespace {

std::string node_key(const std::string& name) { return "n/" + name; }
std::string load_key(const std::string& node) { return "l/" + node; }
std::string cards_key(const std::string& uid) { return "c/" + uid; }
std::string pod_key(const std::string& uid) { return "p/" + uid; }
std::string aux_object_key(std::size_t kind, const std::string& name) {
  return std::to_string(kind) + "/" + name;
}

}  // namespace

void EventQueue::put_reply(core::Event event) {
  const std::scoped_lock lock(mutex_);
  if (keep_ && !keep_(event)) return;
  replies_.emplace_back(std::move(event));
  notify();
}

void EventQueue::ask(Question question) {
  const std::scoped_lock lock(mutex_);
  replies_.emplace_back(std::move(question));
  notify();
}

void EventQueue::put_node(core::NodeChanged event) {
  const std::string key = node_key(event.node.name);
  put_node_event(key, std::move(event));
}

void EventQueue::put_node_gone(const std::string& name) {
  put_node_event(node_key(name), core::NodeGone{name});
}

void EventQueue::put_node_event(const std::string& key, core::Event event) {
  const std::scoped_lock lock(mutex_);
  const core::Event* before = waiting(key);
  const auto* was = before == nullptr ? nullptr : std::get_if<core::NodeChanged>(before);
  const auto* now = std::get_if<core::NodeChanged>(&event);
  const bool same_cards = was != nullptr && now != nullptr && was->node.cards == now->node.cards;
  const bool alone = before == nullptr || entries_.at(key).cards_named == cards_named_;
  put_object(key, std::move(event), same_cards || alone ? Merge::in_place : Merge::not_at_all);
}

// An event without cards keeps the known cards, so it must not replace an event that names them.
void EventQueue::put_pod(core::PodSeenBound event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = pod_key(event.pod.uid);
  Merge merge = Merge::to_the_end;
  if (event.cards) {
    ++cards_named_;
  } else {
    merge = Merge::in_place;
    const core::Event* waits = waiting(key);
    const auto* before = waits == nullptr ? nullptr : std::get_if<core::PodSeenBound>(waits);
    if (before != nullptr && before->node == event.node) event.cards = before->cards;
  }
  put_object(key, std::move(event), merge);
}

void EventQueue::put_pod(core::PodHeld event) {
  const std::scoped_lock lock(mutex_);
  ++cards_named_;
  const std::string key = pod_key(event.pod.uid);
  put_object(key, std::move(event), Merge::to_the_end);
}

void EventQueue::put_pod(core::PodNominated event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = pod_key(event.pod.uid);
  put_object(key, std::move(event));
}

void EventQueue::put_load(core::CardsMeasured event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = load_key(event.node);
  put_object(key, std::move(event));
}

void EventQueue::put_cards(core::CardsNamed event) {
  const std::scoped_lock lock(mutex_);
  ++cards_named_;
  const std::string key = cards_key(event.uid);
  put_object(key, std::move(event), Merge::to_the_end);
}

void EventQueue::put_silence(core::NodeSilent event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = "s/" + event.node;
  put_object(key, std::move(event));
}

void EventQueue::put_plugin(core::PluginMissing event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = "d/" + event.node;
  put_object(key, std::move(event));
}

void EventQueue::put_aux_object(const std::string& name, core::AuxObjectChanged event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = aux_object_key(event.now.index(), name);
  put_object(key, std::move(event));
}

void EventQueue::put_aux_object_gone(core::AuxObjectGone event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = aux_object_key(static_cast<std::size_t>(event.kind), event.name);
  put_object(key, std::move(event));
}

void EventQueue::put_pod_gone(const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  put_object(pod_key(uid), core::PodGone{uid});
}

const core::Event* EventQueue::waiting(const std::string& key) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.turn) return nullptr;
  return &objects_.at(entry->second.serial).event;
}

void EventQueue::put_object(const std::string& key, core::Event event, Merge merge) {
  if (keep_ && !keep_(event)) return;
  const bool waits = waiting(key) != nullptr;
  Entry& entry = entries_[key];
  if (waits && merge == Merge::in_place) {
    objects_.at(entry.serial).event = std::move(event);
  } else {
    if (entry.turn) pending_.erase(*entry.turn);
    if (waits && merge == Merge::to_the_end) objects_.erase(entry.serial);
    entry = {.turn = {}, .event = {}, .serial = ++serials_, .cards_named = cards_named_};
    objects_.emplace(entry.serial, Object{.key = key, .event = std::move(event)});
  }
  notify();
}

void EventQueue::put_pod(core::PodPending event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = pod_key(event.pod.uid);
  Entry& entry = entries_[key];
  const std::int64_t urgency = -std::int64_t{event.pod.priority};
  if (entry.serial != 0) objects_.erase(entry.serial);
  entry.serial = 0;
  const std::uint64_t number = entry.turn ? entry.turn->number : turns_++;
  if (entry.turn) pending_.erase(*entry.turn);
  entry.turn = Turn{.urgency = urgency, .number = number};
  entry.event = std::move(event);
  pending_.emplace(*entry.turn, key);
  notify();
}

void EventQueue::open() {
  const std::scoped_lock lock(mutex_);
  open_ = true;
  notify();
}

void EventQueue::pause() {
  const std::scoped_lock lock(mutex_);
  open_ = false;
}

void EventQueue::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  notify();
}

bool EventQueue::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

void EventQueue::notify() {
  if (on_arrival_) return on_arrival_();
  arrived_.notify_one();
}

bool EventQueue::something(std::size_t pending_max) const {
  return closed_ || !replies_.empty() || !objects_.empty() ||
         (open_ && pending_max > 0 && !pending_.empty());
}

std::optional<std::vector<EventQueue::Message>> EventQueue::take(std::size_t pending_max) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return something(pending_max); });
  return take_locked(pending_max);
}

std::optional<std::vector<EventQueue::Message>> EventQueue::take_now(std::size_t pending_max) {
  const std::scoped_lock lock(mutex_);
  return take_locked(pending_max);
}

std::optional<std::vector<EventQueue::Message>> EventQueue::take_locked(std::size_t pending_max) {
  if (closed_) return std::nullopt;
  std::vector<Message> taken = std::exchange(replies_, {});
  for (auto& [serial, object] : std::exchange(objects_, {})) {
    taken.emplace_back(std::move(object.event));
    const auto entry = entries_.find(object.key);
    if (entry != entries_.end() && entry->second.serial == serial) entries_.erase(entry);
  }
  for (; open_ && pending_max > 0 && !pending_.empty(); --pending_max) {
    const auto first = pending_.begin();
    const auto entry = entries_.find(first->second);
    taken.emplace_back(std::move(*entry->second.event));
    entries_.erase(entry);
    pending_.erase(first);
  }
  return taken;
}

EventQueue::Sizes EventQueue::sizes() const {
  const std::scoped_lock lock(mutex_);
  return {.replies = replies_.size(), .objects = objects_.size(), .pending = pending_.size()};
}

}  // namespace stowage::scheduler
