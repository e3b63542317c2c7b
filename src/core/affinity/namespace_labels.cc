#include "core/affinity/namespace_labels.h"

#include <algorithm>

namespace stowage::core {

void NamespaceLabels::set(const Namespace& ns) {
  const auto [at, fresh] = labels_.emplace(ns.name, ns.labels);
  if (!fresh && at->second == ns.labels) return;
  at->second = ns.labels;
  ++version_;
}

void NamespaceLabels::remove(const std::string& name) {
  if (labels_.erase(name) > 0) ++version_;
}

bool NamespaceLabels::in_namespace(const PodTerm& term, const std::string& ns) const {
  if (std::find(term.namespaces.begin(), term.namespaces.end(), ns) != term.namespaces.end()) {
    return true;
  }
  if (!term.namespace_selector) return false;
  const auto found = labels_.find(ns);
  return matches(*term.namespace_selector, found == labels_.end() ? Labels{} : found->second);
}

}  // namespace stowage::core
