// What the dialects have in common: amounts of resources, shares in percent, lists of cards.
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

// `pod ml/train container "main"`, with which errors begin.
[[nodiscard]] std::string owner(const PodObject& pod, const ContainerObject& container);

// The amounts that a container asks for: its requests, and its limits where there is no request, as
// the API server fills them in; more where it has been given more, and what it has been given alone
// where it will never get what it asks for.
[[nodiscard]] Quantities asked(const ContainerObject& container);
// The same of one resource, which is not one that can be resized.
[[nodiscard]] std::optional<base::Quantity> asked(const ContainerObject& container,
                                                  const std::string& resource);

// The same as a whole number, 0 if it is not asked for. Errors name container, resource and value.
[[nodiscard]] Result<std::int64_t> whole_amount(const PodObject& pod,
                                                const ContainerObject& container,
                                                std::string_view resource);

// What a container of a dialect asks for that counts compute in percent, 100 to the card.
struct PercentAsk {
  std::string_view core_name;  // of the resources, for messages
  std::string_view memory_name;
  std::int64_t percent = 0;
  std::int64_t memory_mib = 0;
};
// Whole cards from 100 percent upwards, their memory whatever it is; a share below.
[[nodiscard]] Result<core::GpuAsk> percent_ask(const PodObject& pod,
                                               const ContainerObject& container,
                                               const PercentAsk& ask, const ReadOptions& options);

// MiB of card memory from a number of units; an error if no card has that much.
[[nodiscard]] Result<std::int64_t> card_memory_mib(const PodObject& pod,
                                                   const ContainerObject& container,
                                                   std::string_view resource,
                                                   std::int64_t unit_mib);

// The text without blanks around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);
// A comma-separated list, blanks trimmed, empty entries dropped.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);
// The spellings under which a model may be known: labels can not hold blanks, so where the model of
// a card comes from a label it has dashes instead.
[[nodiscard]] std::vector<std::string> model_spellings(std::string_view model);
// The value of an annotation or label; null if absent.
[[nodiscard]] const std::string* find(const std::map<std::string, std::string>& texts,
                                      std::string_view key);

// The amount of a resource that a node offers, 0 if none or nonsense (then with a note).
[[nodiscard]] std::int64_t offered(const NodeObject& node, std::string_view resource, Notes& notes);

// `count` equal cards with synthetic ids.
struct EqualCards {
  std::int64_t count = 0;
  std::int64_t memory_mib = 0;  // of each; 0: unknown
  std::string model;
};
[[nodiscard]] std::vector<core::Card> equal_cards(const NodeObject& node, const EqualCards& cards);
[[nodiscard]] std::string synthetic_id(const std::string& node, std::int64_t index);

// Cards counted by a resource that has 100 for each, and a memory resource for all of them.
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

// Ids and indexes differ from card to card; an error names one that does not.
[[nodiscard]] Status check_distinct(const std::vector<core::Card>& cards);
// The position of the card with this index.
[[nodiscard]] std::optional<std::size_t> card_at_index(const std::vector<core::Card>& cards,
                                                       std::int64_t index);
// The position of a card that somebody named: by its id; by its index only where the id was not
// known then. A card with an id is none of those that the node only counts: nobody knows which.
struct CardName {
  std::string_view id;
  std::int64_t index = -1;
};
[[nodiscard]] std::optional<std::size_t> card_named(const core::NodeSpec& node,
                                                    const CardName& name);

// The cards "0,2" of a node by their index, as an assignment to one container that asks for them.
[[nodiscard]] Result<std::vector<core::CardShare>> cards_by_index(std::string_view list,
                                                                  const core::ContainerSpec& asks,
                                                                  const core::NodeSpec& node);
// "0,2": the indexes of the cards.
[[nodiscard]] std::string index_list(const std::vector<core::CardShare>& shares,
                                     const core::NodeSpec& node);
// What the engine charges for this ask on this card.
[[nodiscard]] core::CardShare charge(const core::GpuAsk& ask, const core::NodeSpec& node,
                                     std::size_t card);

}  // namespace stowage::dialect
