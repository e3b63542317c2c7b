// YAML to JSON, document by document, in one forward pass without a tree. Scalars follow the core
// schema of YAML 1.2: quoted ones stay strings; plain numbers, true, false and null are typed.
// Anchors and aliases work, within the limit of the output; merge keys (<<) do not.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::client {

struct YamlDocument {
  std::string json;
  std::size_t number = 0;  // from 1; empty documents are counted, but not returned
  std::size_t line = 0;    // of its first value, from 1
  // Lines of the elements of the list under the key "items" of the document.
  std::vector<std::size_t> item_lines;
};

struct YamlLimits {
  std::size_t max_json_bytes = std::size_t{256} << 20U;  // for all documents together
  std::size_t max_depth = 100;
};

struct YamlRequest {
  std::string_view text;
  std::string file;  // for errors
  YamlLimits limits;
  std::function<void(double)> on_progress;  // the fraction that has been read; may be empty
};

// Errors name the file, the line and the number of the document.
[[nodiscard]] Result<std::vector<YamlDocument>> yaml_to_json(const YamlRequest& ask);

// A plain scalar as JSON: a number, true, false, null, or a text in quotes.
[[nodiscard]] std::string plain_scalar(std::string_view text);

}  // namespace stowage::client
