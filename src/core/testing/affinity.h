// For tests of core/affinity: terms, labelled pods and labelled nodes in one line each.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/ledger/ledger.h"
#include "core/model/pod.h"
#include "core/model/pod_constraints.h"
#include "core/testing/builders.h"

namespace stowage::core::testing {

// Selects pods of namespace "ns" with the label app=`app`.
inline PodTerm app_term(const std::string& app, const std::string& topology_key) {
  return {.selector = {.all = {{.key = "app", .values = {app}}}},
          .namespaces = {"ns"},
          .topology_key = topology_key};
}

// A pod of namespace "ns".
inline PodSpec labelled_pod(const std::string& name, Labels labels = {}) {
  PodSpec spec = pod(name);
  spec.name = "ns/" + name;
  spec.constraints.labels = std::move(labels);
  return spec;
}

// Nodes n0, n1, ... with the labels host=<name> and zone=z<number modulo zones>.
inline void add_nodes(Ledger& ledger, std::size_t nodes, std::size_t zones) {
  for (std::size_t n = 0; n < nodes; ++n) {
    NodeSpec spec = node("n" + std::to_string(n));
    spec.labels = {{"host", spec.name}, {"zone", "z" + std::to_string(n % zones)}};
    (void)ledger.upsert_node(spec);
  }
}

}  // namespace stowage::core::testing
