// The labels of namespaces: decides whether a term selects a pod, given its namespace and labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/model/pod_constraints.h"
#include "core/model/storage.h"

namespace stowage::core {

class NamespaceLabels {
 public:
  void set(const Namespace& ns);
  void remove(const std::string& name);

  // A namespace that was never set has no labels.
  [[nodiscard]] bool selects(const PodTerm& term, const std::string& ns,
                             const Labels& labels) const {
    return in_namespace(term, ns) && matches(term.selector, labels);
  }
  // Grows whenever an answer of selects() may change. Never 0.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  [[nodiscard]] bool in_namespace(const PodTerm& term, const std::string& ns) const;

  std::map<std::string, Labels> labels_;  // by namespace
  std::uint64_t version_ = 1;
};

}  // namespace stowage::core
