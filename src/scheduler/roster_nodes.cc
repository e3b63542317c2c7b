// Nodes as the API tells of them.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

void Roster::begin_nodes() {
  ++node_list_;
  nodes_unnamed_ = false;
}

void Roster::see_node(const dialect::NodeObject& object) {
  auto reading = dialect::to_spec(object);
  Notice notice{.kind = Notice::Kind::node, .name = object.name, .uid = object.uid};
  if (!reading) {
    keep_node(object.name);
    notice.text = reading.error().message + "; what is known of the node stays";
    if (std::exchange(unread_nodes_[object.name].told, notice.text) != notice.text) {
      on_notice_(notice);
    }
    return;
  }
  unread_nodes_.erase(object.name);
  const auto [at, fresh] = nodes_.try_emplace(object.name);
  NodeEntry& entry = at->second;
  entry.seen_in = node_list_;
  if (entry.notes != reading->notes) {
    entry.notes = reading->notes;
    notice.text = base::join(entry.notes, "; ");
    if (!notice.text.empty()) on_notice_(notice);
  }
  set_memory_unit(entry, reading->vgpu_memory_mib);
  const bool same_cards = !fresh && entry.spec.cards == reading->node.cards;
  // The engine keeps labels and amounts; here only the cards are looked up again.
  core::NodeSpec cards{
      .name = reading->node.name, .cards = reading->node.cards, .links = reading->node.links};
  entry.spec = std::move(cards);
  mailbox_.put_node(core::NodeChanged{std::move(reading->node)});

  if (same_cards) return;
  if (on_cards_) on_cards_(object.name, &entry.spec.cards);
  if (leads_) {
    tell_promises(object.name);
    if (on_other_cards_) on_other_cards_(object.name);
  }
  if (const auto here = on_node_.find(object.name); here != on_node_.end()) {
    for (const std::string& uid : here->second) ask_kubelet(uid, pods_.at(uid));
  }
  const auto unheard = unheard_.find(object.name);
  if (unheard == unheard_.end()) return;
  const std::set<std::string> uids = std::move(unheard->second);
  unheard_.erase(unheard);
  for (const std::string& uid : uids) {
    PodEntry& pod = pods_.at(uid);
    const std::unique_ptr<Wanting> kept = std::move(pod.wanting);
    tell_bound(pod, std::move(kept->object), std::move(kept->spec), std::nullopt);
  }
}

std::map<std::string, Roster::Cards> Roster::all_cards() const {
  std::map<std::string, Cards> all;
  for (const auto& [name, entry] : nodes_) all.emplace(name, entry.spec.cards);
  return all;
}

void Roster::lose_node(const std::string& name) {
  unread_nodes_.erase(name);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  set_memory_unit(found->second, 0);
  nodes_.erase(found);
  agents_.erase(name);
  mailbox_.put_node_gone(name);
  if (on_cards_) on_cards_(name, nullptr);
}

void Roster::set_memory_unit(NodeEntry& entry, std::int32_t unit) {
  if (entry.memory_unit == unit) return;
  if (entry.memory_unit != 0 && --memory_units_[entry.memory_unit] == 0) {
    memory_units_.erase(entry.memory_unit);
  }
  entry.memory_unit = unit;
  if (unit != 0) ++memory_units_[unit];
}

dialect::ReadOptions Roster::reading(dialect::ReadOptions options) const {
  const auto most =
      std::max_element(memory_units_.begin(), memory_units_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != memory_units_.end()) options.vgpu_memory_mib = most->first;
  return options;
}

void Roster::keep_node(const std::string& name) {
  if (const auto found = nodes_.find(name); found != nodes_.end()) {
    found->second.seen_in = node_list_;
  }
  if (name.empty()) {
    nodes_unnamed_ = true;
  } else {
    unread_nodes_[name].seen_in = node_list_;
  }
}

void Roster::end_nodes() {
  if (nodes_unnamed_) return;
  std::vector<std::string> gone;
  for (const auto& [name, entry] : nodes_) {
    if (entry.seen_in != node_list_) gone.push_back(name);
  }
  std::sort(gone.begin(), gone.end());
  for (const auto& name : gone) lose_node(name);
  std::erase_if(unread_nodes_,
                [this](const auto& entry) { return entry.second.seen_in != node_list_; });
}

const core::NodeSpec* Roster::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second.spec;
}

}  // namespace stowage::scheduler
