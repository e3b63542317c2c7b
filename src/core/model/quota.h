// Limits on the cards that the pods of a namespace may hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stowage::core {

// A limit on the cards of one model, compared case-insensitively; "*": all models together.
struct ModelLimit {
  std::string model;
  std::optional<std::int64_t> cards;  // counts each card that a pod holds wholly or partly
  std::optional<std::int64_t> milli;
  std::optional<std::int64_t> memory_mib;
  friend bool operator==(const ModelLimit&, const ModelLimit&) = default;
};

// The form of gpu-admission: labels of nodes give their model and pool. A model that is not listed
// is not allowed; an empty list of pools allows any.
struct NodeModelQuota {
  std::map<std::string, std::int64_t> milli;  // by the value of the model label
  std::vector<std::string> pools;             // values of the pool label
  friend bool operator==(const NodeModelQuota&, const NodeModelQuota&) = default;
};

struct NamespaceQuota {
  std::optional<NodeModelQuota> by_node;
  std::vector<ModelLimit> limits;
  friend bool operator==(const NamespaceQuota&, const NamespaceQuota&) = default;
};

// A namespace that is not listed has no limit.
struct Quotas {
  std::string model_label;
  std::string pool_label;
  std::map<std::string, NamespaceQuota> namespaces;
  friend bool operator==(const Quotas&, const Quotas&) = default;
};

// What the quota allows one pod now. Part of the pod's shape, so twins have equal bounds.
struct QuotaBounds {
  bool by_node = false;  // only nodes with these labels
  std::string model_label;
  std::vector<std::string> models;  // sorted
  std::string pool_label;
  std::vector<std::string> pools;  // empty: any
  // Card models, in lower case, for which the quota is used up; "*": all.
  std::vector<std::string> spent;

  [[nodiscard]] bool any() const { return by_node || !spent.empty(); }
  friend bool operator==(const QuotaBounds&, const QuotaBounds&) = default;
};

}  // namespace stowage::core
