// Shared by the dialects: amounts of resources, shares in percent, lists of cards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/dialect.h"
#include "dialect/table.h"

namespace stowage::dialect {

// `pod ml/train container "main"`, the start of error messages.
[[nodiscard]] std::string owner(const PodObject& pod, const ContainerObject& container);

// The amounts that a container requests: its requests, or its limits where there is no request, as
// the API server defaults them. If the kubelet has allocated more, that counts. If a resize is
// infeasible, only the allocated amounts count.
[[nodiscard]] Quantities asked(const ContainerObject& container);
// The same for one resource that cannot be resized.
[[nodiscard]] std::optional<base::Quantity> asked(const ContainerObject& container,
                                                  const std::string& resource);

// The same as an integer, 0 if not requested. Errors name container, resource and value.
[[nodiscard]] Result<std::int64_t> whole_amount(const PodObject& pod,
                                                const ContainerObject& container,
                                                std::string_view resource);

// The request of a container in a dialect that counts compute in percent, 100 per card.
struct PercentRequest {
  std::string_view core_name;  // resource names, for messages
  std::string_view memory_name;
  std::int64_t percent = 0;
  std::int64_t memory_mib = 0;
};
// From 100 percent on, whole cards with all their memory; below that, a share.
[[nodiscard]] Result<core::GpuRequest> percent_ask(const PodObject& pod,
                                                   const ContainerObject& container,
                                                   const PercentRequest& ask,
                                                   const ReadOptions& options);

// Converts units to MiB of card memory; an error if no card has that much.
[[nodiscard]] Result<std::int64_t> card_memory_mib(const PodObject& pod,
                                                   const ContainerObject& container,
                                                   std::string_view resource,
                                                   std::int64_t unit_mib);

// The text without leading and trailing blanks.
[[nodiscard]] std::string_view trimmed(std::string_view text);
// A comma-separated list, blanks trimmed, empty entries dropped.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);
// The spellings of a model: labels cannot contain blanks, so a model from a label has dashes
// instead.
[[nodiscard]] std::vector<std::string> model_spellings(std::string_view model);
// The value of an annotation or label; null if absent.
[[nodiscard]] const std::string* find(const std::map<std::string, std::string>& texts,
                                      std::string_view key);

// The amount of a resource that a node offers; 0 if missing, or if invalid (with a note).
[[nodiscard]] std::int64_t offered(const NodeObject& node, std::string_view resource, Notes& notes);

// `count` equal cards with synthetic ids.
struct EqualCards {
  std::int64_t count = 0;
  std::int64_t memory_mib = 0;  // of each; 0: unknown
  std::string model;
};
[[nodiscard]] std::vector<core::Card> equal_cards(const NodeObject& node, const EqualCards& cards);
[[nodiscard]] std::string synthetic_id(const std::string& node, std::int64_t index);

// Cards counted by a resource with 100 units per card, and a memory resource for all of them.
struct PercentCount {
  std::string_view core_name;
  std::string_view memory_name;
  std::int32_t unit_mib = 1;  // of the memory resource
};
[[nodiscard]] std::optional<CardSource> percent_cards(const NodeObject& node,
                                                      const PercentCount& count, Notes& notes);

inline constexpr std::int32_t kMaxCardIndex = 1 << 20U;
inline constexpr std::int32_t kMaxCardSlots = 10000;
inline constexpr std::int32_t kMaxNumaNode = 1 << 20U;

// Checks that ids and indexes are unique; the error names a duplicate.
[[nodiscard]] Status check_distinct(const std::vector<core::Card>& cards);
// The position of the card with this index.
[[nodiscard]] std::optional<std::size_t> card_at_index(const std::vector<core::Card>& cards,
                                                       std::int64_t index);
// The position of the card with this id. The id of a counted card ("node/index") never matches a
// card of a node that lists its cards, nor the reverse, because indexes change.
[[nodiscard]] std::optional<std::size_t> card_with_id(const core::NodeSpec& node,
                                                      std::string_view id);

// The cards "0,2" of a node by index, as an assignment to one container that requests them.
[[nodiscard]] Result<std::vector<core::CardShare>> cards_by_index(std::string_view list,
                                                                  const core::ContainerSpec& asks,
                                                                  const core::NodeSpec& node);
// "0,2": the indexes of the cards.
[[nodiscard]] std::string index_list(const std::vector<core::CardShare>& shares,
                                     const core::NodeSpec& node);
// The engine's charge for this request on this card.
[[nodiscard]] core::CardShare charge(const core::GpuRequest& ask, const core::NodeSpec& node,
                                     std::size_t card);

}  // namespace stowage::dialect
