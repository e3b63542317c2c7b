// An index of volumes or storage pools by size and by the nodes that can reach them, so that a
// query for one node does not look at all of them.
//
// The index only narrows the search: it finds everything that a node with these labels reaches, and
// possibly more. The caller's `accepts` decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/pod_constraints.h"
#include "core/model/rules.h"

namespace stowage::core {

class Reach {
 public:
  // Labels of which a node must have at least one; `anywhere`: no restriction is known.
  struct Anchors {
    bool anywhere = false;
    std::vector<std::pair<std::string, std::string>> labels;
  };
  [[nodiscard]] static Anchors anchors_of(const std::optional<std::vector<NodeTerm>>& affinity);
  [[nodiscard]] static Anchors anchors_of(const std::optional<LabelSelector>& nodes);

  void add(const Anchors& anchors, std::int64_t bytes, const std::string& name);
  void remove(const Anchors& anchors, std::int64_t bytes, const std::string& name);

  // The name of the smallest entry with at least this many bytes for which `accepts(name)` is true,
  // equal sizes by name; null if none.
  template <class Accepts>
  [[nodiscard]] const std::string* smallest(const Labels& node, std::int64_t bytes,
                                            Accepts accepts) const {
    const Sized* best = nullptr;
    const auto search = [&](const std::set<Sized>& entries) {
      for (auto at = entries.lower_bound({bytes, {}}); at != entries.end(); ++at) {
        if (best != nullptr && *best <= *at) return;
        if (!accepts(at->second)) continue;
        best = &*at;
        return;
      }
    };
    search(anywhere_);
    for (const auto& [key, by_value] : anchored_) {
      const auto label = node.find(key);
      if (label == node.end()) continue;
      const auto entries = by_value.find(label->second);
      if (entries != by_value.end()) search(entries->second);
    }
    return best == nullptr ? nullptr : &best->second;
  }

 private:
  using Sized = std::pair<std::int64_t, std::string>;  // bytes, name
  std::set<Sized> anywhere_;
  std::map<std::string, std::map<std::string, std::set<Sized>>> anchored_;  // by key, by value
};

}  // namespace stowage::core
