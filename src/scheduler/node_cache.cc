#include "scheduler/node_cache.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stowage::scheduler {

NodeCache::Update NodeCache::update(const dialect::NodeObject& object) {
  auto reading = dialect::to_spec(object);
  Update update;
  if (!reading) {
    update.notice = reading.error().message + "; its last known state is kept";
    std::string& told = unread_[object.name];
    if (std::exchange(told, update.notice) == update.notice) update.notice.clear();
    return update;
  }
  unread_.erase(object.name);
  const auto [at, fresh] = nodes_.try_emplace(object.name);
  Entry& entry = at->second;
  if (entry.notes != reading->notes) {
    entry.notes = reading->notes;
    update.notice = base::join(entry.notes, "; ");
  }
  set_memory_unit(entry, reading->vgpu_memory_mib);
  update.cards_changed = fresh || entry.spec.cards != reading->node.cards;
  entry.spec = {
      .name = reading->node.name, .cards = reading->node.cards, .links = reading->node.links};
  entry.offer = dialect::read_offer(object);
  entry.offer.recorded_text ? static_cast<void>(recorded_.insert(object.name))
                            : static_cast<void>(recorded_.erase(object.name));
  update.now = std::move(reading->node);
  return update;
}

bool NodeCache::erase(const std::string& name) {
  unread_.erase(name);
  recorded_.erase(name);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return false;
  set_memory_unit(found->second, 0);
  nodes_.erase(found);
  return true;
}

void NodeCache::mark_unreadable(const std::string& name) {
  if (!name.empty()) unread_.try_emplace(name);
}

void NodeCache::set_memory_unit(Entry& entry, std::int32_t unit) {
  if (entry.memory_unit == unit) return;
  if (entry.memory_unit != 0 && --memory_units_[entry.memory_unit] == 0) {
    memory_units_.erase(entry.memory_unit);
  }
  entry.memory_unit = unit;
  if (unit != 0) ++memory_units_[unit];
}

const core::NodeSpec* NodeCache::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second.spec;
}

const dialect::NodeOffer* NodeCache::offer(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second.offer;
}

std::map<std::string, NodeCache::Cards> NodeCache::all_cards() const {
  std::map<std::string, Cards> all;
  for (const auto& [name, entry] : nodes_) all.emplace(name, entry.spec.cards);
  return all;
}

dialect::ReadOptions NodeCache::reading(dialect::ReadOptions options) const {
  const auto most =
      std::max_element(memory_units_.begin(), memory_units_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != memory_units_.end()) options.vgpu_memory_mib = most->first;
  return options;
}

}  // namespace stowage::scheduler
