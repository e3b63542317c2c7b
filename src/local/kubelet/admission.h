// Which pods a simulated kubelet takes: like a real one it refuses what its node does not have, so
// that a scheduler that puts too much on a node or on a card is found out. Counts for itself, from
// the objects alone, and trusts nobody's ledger. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/json.h"

namespace stowage::local {

// By name of the resource: cpu in thousandths, all others in units. Never negative; an amount that
// is nonsense or too large for 64 bits counts as more than any node has.
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

// What the pod takes of its node: sidecars, and the larger of the other containers together and
// each init container, and the overhead; and one of "pods".
[[nodiscard]] Amounts demand_of(const json::object& pod);

// A part of one card, by the annotation of the choice of cards (dialect/dialect.h).
struct CardUse {
  std::string card;  // its id
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  friend bool operator==(const CardUse&, const CardUse&) = default;
};
// Per card, what the pod uses at most at one time, by id. Empty if the annotation is not there, can
// not be read or speaks of another node than the pod's.
[[nodiscard]] std::vector<CardUse> cards_of(const json::object& pod);

struct NodeSupply {
  Amounts allocatable;
  std::map<std::string, std::int64_t> cards;  // id -> MiB; 0: nobody says
  friend bool operator==(const NodeSupply&, const NodeSupply&) = default;
};
[[nodiscard]] NodeSupply supply_of(const json::object& node);

// Why a pod is not taken, as the status of the pod says it.
struct AdmissionRefusal {
  std::string reason;  // "OutOfcpu", "UnexpectedAdmissionError"
  std::string message;
  friend bool operator==(const AdmissionRefusal&, const AdmissionRefusal&) = default;
};

// What the pods of all nodes hold. Resources that mean cards are counted by name, as the kubelet
// does, for pods that do not say which cards they use; for those that do, card by card.
class Admission {
 public:
  void set_node(const std::string& name, NodeSupply supply);
  void forget_node(const std::string& name);

  // Takes the pod and counts it until release(), or says why not. A pod that is taken already stays
  // taken. Requires: the node is known.
  [[nodiscard]] std::optional<AdmissionRefusal> admit(const std::string& node,
                                                      const std::string& uid,
                                                      const json::object& pod);
  // Counts a pod that runs already, whatever there is room for.
  void count(const std::string& node, const std::string& uid, const json::object& pod);
  void release(const std::string& uid);

 private:
  struct Held {
    std::string node;
    Amounts amounts;
    std::vector<CardUse> cards;
  };
  struct Node {
    bool known = false;
    NodeSupply supply;
    Amounts used;
    std::map<std::string, CardUse> cards;  // by id
  };
  [[nodiscard]] static std::optional<AdmissionRefusal> judge(const Node& node, const Held& claim);
  void hold(const std::string& uid, Held claim);

  std::map<std::string, Node> nodes_;
  std::map<std::string, Held> held_;  // by uid
};

}  // namespace stowage::local
