#include "dialect/table.h"

#include <algorithm>
#include <array>

namespace stowage::dialect {

std::span<const Dialect> dialects() {
  // The most trusted annotations and card counts first.
  static const std::array kDialects = {native(), nvidia(),  vgpu(),        vcuda(), vcuda_nvidia(),
                                       alnair(), elastic(), elastic_com(), nano()};
  return kDialects;
}

bool means_cards(std::string_view resource) {
  return std::any_of(dialects().begin(), dialects().end(), [&](const Dialect& dialect) {
    return std::find(dialect.resources.begin(), dialect.resources.end(), resource) !=
           dialect.resources.end();
  });
}

const std::string* spoken(const PodObject& pod, const Dialect& dialect) {
  const auto means = [&](const Quantities::value_type& entry) {
    return !entry.second.zero() && std::find(dialect.resources.begin(), dialect.resources.end(),
                                             entry.first) != dialect.resources.end();
  };
  for (const ContainerObject& container : pod.containers) {
    for (const Quantities* amounts : {&container.requests, &container.limits}) {
      const auto found = std::find_if(amounts->begin(), amounts->end(), means);
      if (found != amounts->end()) return &found->first;
    }
  }
  return nullptr;
}

}  // namespace stowage::dialect
