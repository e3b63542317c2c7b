// Which pods a simulated kubelet admits. Like a real kubelet it refuses what its node does not
// have, so a scheduler that overcommits a node or a card is detected. It counts from the objects
// alone and shares no code with the ledger. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/json.h"

namespace stowage::local {

// By resource name: cpu in thousandths, all others in units. Never negative; an amount that is
// invalid or exceeds 64 bits counts as more than any node has.
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

// What the pod takes of its node: sidecars, plus the larger of the other containers together and
// each init container, plus the overhead, plus one of "pods".
[[nodiscard]] Amounts demand_of(const json::object& pod);

// A share of one card, from the annotation with the assignment (dialect/dialect.h).
struct CardUse {
  std::string card;  // its id
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  friend bool operator==(const CardUse&, const CardUse&) = default;
};
// Per card, the most that the pod uses at one time, by id. Empty if the annotation is missing,
// invalid or for another node.
[[nodiscard]] std::vector<CardUse> cards_of(const json::object& pod);

struct NodeSupply {
  Amounts allocatable;
  std::map<std::string, std::int64_t> cards;  // id -> MiB; 0: unknown
  friend bool operator==(const NodeSupply&, const NodeSupply&) = default;
};
[[nodiscard]] NodeSupply supply_of(const json::object& node);

// Why a pod is not admitted, as in its status.
struct AdmissionRefusal {
  std::string reason;  // "OutOfcpu", "UnexpectedAdmissionError"
  std::string message;
  friend bool operator==(const AdmissionRefusal&, const AdmissionRefusal&) = default;
};

// What the pods of all nodes use. Pods that name their cards are counted card by card; for other
// pods, card resources are counted by name, as the kubelet does.
class Admission {
 public:
  void set_node(const std::string& name, NodeSupply supply);
  void forget_node(const std::string& name);

  // Admits the pod and counts it until release(), or returns the refusal. Admitting a pod twice
  // counts it once. Requires: the node is known.
  [[nodiscard]] std::optional<AdmissionRefusal> admit(const std::string& node,
                                                      const std::string& uid,
                                                      const json::object& pod);
  // Counts a pod that already runs, without a check.
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
