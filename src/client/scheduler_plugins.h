// The successors of the predicates, priorities and plugins of older kube-schedulers.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace stowage::client {

struct ScoreDefault {
  std::string_view plugin;
  int weight = 0;  // in v1
};

// The weight of a plugin that scores by default in v1; unset: it does not score by default.
[[nodiscard]] std::optional<int> default_weight(std::string_view plugin);

// Plugins that kube-scheduler itself has under v1.
[[nodiscard]] bool is_current_plugin(std::string_view name);
// Extension points of v1; case-insensitive. Empty if unknown.
[[nodiscard]] std::string_view current_point(std::string_view name);
// Keys of the arguments of a plugin under v1; empty: it takes none.
[[nodiscard]] std::span<const std::string_view> argument_keys(std::string_view plugin);

struct Successor {
  std::string_view old;
  std::string_view plugin;    // of v1; empty: none
  std::string_view strategy;  // the scoring strategy of NodeResourcesFit that it is now
  std::string_view why;       // the explanation; empty: the plugin says enough
};

// Null if the name is not known.
[[nodiscard]] const Successor* predicate(std::string_view name);
[[nodiscard]] const Successor* priority(std::string_view name);
[[nodiscard]] const Successor* former_plugin(std::string_view name);

}  // namespace stowage::client
