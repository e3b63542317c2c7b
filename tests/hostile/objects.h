// Objects as a hostile author would write them: for each list of the API, one object in which that
// list is as long as the API server accepts, or as long as our limits allow.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/event.h"

namespace stowage::hostile {

// A little less than the API server stores: 1.5 MiB, including what it adds.
inline constexpr std::size_t kLargest = std::size_t{1400} << 10U;
inline constexpr std::size_t kAnnotations = std::size_t{250} << 10U;  // the API takes 256 KiB

struct Kind {
  const char* name;
  // Text in which @ marks the place of the entries; they are separated by commas. The first letter
  // says which part of the object it is: labels, annotations, owners, requests, ports, containers,
  // spec or (T) status.
  std::string frame;
  std::function<std::string(std::size_t pod, std::size_t entry)> entry;
  std::size_t most = ~std::size_t{0};  // entries, by our limits
  std::size_t bytes = kLargest;        // that the API accepts for this list
};

enum class Size : unsigned char { largest, within_limits };

// One of each kind of list that a pod has.
[[nodiscard]] const std::vector<Kind>& pod_kinds();
struct PodRequest {
  std::size_t number = 0;  // pods of one kind differ by it
  Size size = Size::largest;
  std::string node;  // to which it is bound; empty: pending
};
[[nodiscard]] std::string pod_uid(const Kind& kind, std::size_t number);
[[nodiscard]] std::string pod_json(const Kind& kind, const PodRequest& ask);
// A valid, ordinary pod.
[[nodiscard]] std::string plain_pod_json(const std::string& name, int priority,
                                         const std::string& node);

// A pod whose shares of cards add up to what a node of share_node_json() has, or a little less; but
// no card holds two of them, and there are more of them than cards. Each is another shape.
[[nodiscard]] std::string scattered_uid(std::size_t number);
[[nodiscard]] std::string scattered_pod_json(std::size_t number, int priority);
[[nodiscard]] std::string shares_pod_json(const std::string& name, int containers, int percent,
                                          const std::string& node);
[[nodiscard]] std::string share_node_json(const std::string& name);
// An ordinary pod that requests a share of a card of such a node.
[[nodiscard]] std::string share_pod_json(const std::string& name, int priority,
                                         const std::string& node);

[[nodiscard]] const std::vector<Kind>& node_kinds();
[[nodiscard]] std::string node_json(const Kind* kind, const std::string& name, Size size);

struct AuxKind {
  core::AuxKind kind;
  Kind list;
};
[[nodiscard]] const std::vector<AuxKind>& aux_kinds();
[[nodiscard]] std::string aux_object_name(const AuxKind& kind, std::size_t number);  // in "ns"
[[nodiscard]] std::string aux_object_json(const AuxKind& kind, std::size_t number, Size size);

}  // namespace stowage::hostile
