// How much of which cards the pods of a namespace may hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stowage::core {

// A limit on the cards of one model, compared without regard to case; "*" is every model together.
struct ModelLimit {
  std::string model;
  std::optional<std::int64_t> cards;  // each card that a pod holds, in whole or in part
  std::optional<std::int64_t> milli;
  std::optional<std::int64_t> memory_mib;
  friend bool operator==(const ModelLimit&, const ModelLimit&) = default;
};

// The form of gpu-admission: nodes carry their model and their pool as labels. A model that is not
// named is not allowed at all; no pools means any.
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

// A namespace that is not named has no limit.
struct Quotas {
  std::string model_label;
  std::string pool_label;
  std::map<std::string, NamespaceQuota> namespaces;
  friend bool operator==(const Quotas&, const Quotas&) = default;
};

// What the quota leaves to one pod now. Part of its shape: twins have equal bounds.
struct QuotaBounds {
  bool by_node = false;  // only nodes with these labels
  std::string model_label;
  std::vector<std::string> models;  // sorted
  std::string pool_label;
  std::vector<std::string> pools;  // empty: any
  // Models of cards, in small letters, that the namespace has used up; "*": all.
  std::vector<std::string> spent;

  [[nodiscard]] bool any() const { return by_node || !spent.empty(); }
  friend bool operator==(const QuotaBounds&, const QuotaBounds&) = default;
};

}  // namespace stowage::core
