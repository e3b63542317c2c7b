#include "core/volumes/reach.h"

#include <algorithm>

namespace stowage::core {
namespace {

// The first requirement that lists values; null: the labels do not narrow the search.
const Requirement* anchor_in(const std::vector<Requirement>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const Requirement& requirement) {
    return requirement.op == Requirement::Op::in;
  });
  return found == all.end() ? nullptr : &*found;
}

// False if the requirements do not narrow the search.
bool put_anchors(const std::vector<Requirement>& all, Reach::Anchors& out) {
  const Requirement* anchor = anchor_in(all);
  if (anchor == nullptr) return false;
  for (const auto& value : anchor->values) out.labels.emplace_back(anchor->key, value);
  return true;
}

}  // namespace

Reach::Anchors Reach::anchors_of(const std::optional<std::vector<NodeTerm>>& affinity) {
  if (!affinity) return {.anywhere = true, .labels = {}};
  Anchors anchors;
  for (const auto& term : *affinity) {
    if (term.labels.empty() && term.fields.empty()) continue;  // matches no node
    if (!put_anchors(term.labels, anchors)) return {.anywhere = true, .labels = {}};
  }
  return anchors;
}

Reach::Anchors Reach::anchors_of(const std::optional<LabelSelector>& nodes) {
  Anchors anchors;
  if (!nodes || nodes->nothing) return anchors;
  anchors.anywhere = !put_anchors(nodes->all, anchors);
  return anchors;
}

void Reach::add(const Anchors& anchors, std::int64_t bytes, const std::string& name) {
  if (anchors.anywhere) anywhere_.emplace(bytes, name);
  for (const auto& [key, value] : anchors.labels) anchored_[key][value].emplace(bytes, name);
}

void Reach::remove(const Anchors& anchors, std::int64_t bytes, const std::string& name) {
  if (anchors.anywhere) anywhere_.erase({bytes, name});
  for (const auto& [key, value] : anchors.labels) {
    const auto by_value = anchored_.find(key);
    if (by_value == anchored_.end()) continue;
    const auto entries = by_value->second.find(value);
    if (entries == by_value->second.end()) continue;
    entries->second.erase({bytes, name});
    if (entries->second.empty()) by_value->second.erase(entries);
    if (by_value->second.empty()) anchored_.erase(by_value);
  }
}

}  // namespace stowage::core
