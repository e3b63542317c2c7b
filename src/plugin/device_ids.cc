#include "plugin/device_ids.h"

#include <fmt/format.h>

#include "base/number.h"
#include "base/text.h"

namespace stowage::plugin {
namespace {

std::string id_of(std::string_view resource, std::size_t number) {
  return fmt::format("{}-{:04}", base::split_name(resource).name, number);
}

}  // namespace

Ids device_ids(std::string_view resource, std::size_t count) {
  Ids ids;
  for (std::size_t i = 1; i <= count; ++i) ids.push_back(id_of(resource, i));
  return ids;
}

bool is_device_id(std::string_view resource, std::size_t count, std::string_view id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string_view::npos) return false;
  const auto number = base::parse_number<std::size_t>(id.substr(dash + 1));
  return number && *number >= 1 && *number <= count && id == id_of(resource, *number);
}

}  // namespace stowage::plugin
