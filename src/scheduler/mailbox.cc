#include "scheduler/mailbox.h"

#include <utility>

namespace stowage::scheduler {
namespace {

std::string node_key(const std::string& name) { return "n/" + name; }
std::string pod_key(const std::string& uid) { return "p/" + uid; }
std::string thing_key(std::size_t kind, const std::string& name) {
  return std::to_string(kind) + "/" + name;
}

}  // namespace

void Mailbox::put_reply(core::Event event) {
  const std::scoped_lock lock(mutex_);
  replies_.emplace_back(std::move(event));
  arrived_.notify_one();
}

void Mailbox::ask(Question question) {
  const std::scoped_lock lock(mutex_);
  replies_.emplace_back(std::move(question));
  arrived_.notify_one();
}

void Mailbox::put_node(core::NodeChanged event) {
  const std::string key = node_key(event.node.name);
  put_object(key, std::move(event));
}

void Mailbox::put_node_gone(const std::string& name) {
  put_object(node_key(name), core::NodeGone{name});
}

void Mailbox::put_pod(core::PodSeenBound event) {
  const std::string key = pod_key(event.pod.uid);
  put_object(key, std::move(event));
}

void Mailbox::put_pod(core::PodHeld event) {
  const std::string key = pod_key(event.pod.uid);
  put_object(key, std::move(event));
}

void Mailbox::put_pod(core::PodNominated event) {
  const std::string key = pod_key(event.pod.uid);
  put_object(key, std::move(event));
}

void Mailbox::put_thing(const std::string& name, core::ThingChanged event) {
  const std::string key = thing_key(event.now.index(), name);
  put_object(key, std::move(event));
}

void Mailbox::put_thing_gone(core::ThingGone event) {
  const std::string key = thing_key(static_cast<std::size_t>(event.kind), event.name);
  put_object(key, std::move(event));
}

void Mailbox::put_pod_gone(const std::string& uid) { put_object(pod_key(uid), core::PodGone{uid}); }

void Mailbox::put_object(const std::string& key, core::Event event) {
  const std::scoped_lock lock(mutex_);
  Slot& slot = slots_[key];
  if (slot.turn) {
    pending_.erase(*slot.turn);
    slot.turn.reset();
    slot.event.reset();
  }
  if (!slot.event) {
    objects_.push_back(key);
    ++objects_live_;
  }
  slot.event = std::move(event);
  arrived_.notify_one();
}

void Mailbox::put_pod(core::PodPending event) {
  const std::scoped_lock lock(mutex_);
  const std::string key = pod_key(event.pod.uid);
  Slot& slot = slots_[key];
  const std::int64_t urgency = -std::int64_t{event.pod.priority};
  if (slot.event && !slot.turn) --objects_live_;  // its key in `objects` goes stale
  const std::uint64_t number = slot.turn ? slot.turn->number : turns_++;
  if (slot.turn) pending_.erase(*slot.turn);
  slot.turn = Turn{.urgency = urgency, .number = number};
  slot.event = std::move(event);
  pending_.emplace(*slot.turn, key);
  arrived_.notify_one();
}

void Mailbox::open() {
  const std::scoped_lock lock(mutex_);
  open_ = true;
  arrived_.notify_one();
}

void Mailbox::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

bool Mailbox::something(std::size_t pending_max) const {
  return closed_ || !replies_.empty() || objects_live_ > 0 ||
         (open_ && pending_max > 0 && !pending_.empty());
}

std::optional<std::vector<Mailbox::Message>> Mailbox::take(std::size_t pending_max) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return something(pending_max); });
  if (closed_) return std::nullopt;
  std::vector<Message> taken = std::exchange(replies_, {});
  for (const std::string& key : objects_) {
    const auto slot = slots_.find(key);
    if (slot == slots_.end() || slot->second.turn) continue;
    taken.emplace_back(std::move(*slot->second.event));
    slots_.erase(slot);
  }
  objects_.clear();
  objects_live_ = 0;
  for (; open_ && pending_max > 0 && !pending_.empty(); --pending_max) {
    const auto first = pending_.begin();
    const auto slot = slots_.find(first->second);
    taken.emplace_back(std::move(*slot->second.event));
    slots_.erase(slot);
    pending_.erase(first);
  }
  return taken;
}

Mailbox::Sizes Mailbox::sizes() const {
  const std::scoped_lock lock(mutex_);
  return {.replies = replies_.size(), .objects = objects_live_, .pending = pending_.size()};
}

}  // namespace stowage::scheduler
