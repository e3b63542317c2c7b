#include "core/ledger/name_tables.h"

namespace stowage::core {

void NameTables::take(const Card& card, CardState& row) {
  row.model = borrowed_ == nullptr ? models_.take(card.model) : borrowed_->models_.find(card.model);
  row.memory_class = memory_.take(card.memory_mib);
}

void NameTables::give_back(std::span<const CardState> cards) {
  if (borrowed_ != nullptr) return;
  for (const CardState& card : cards) {
    models_.give_back(card.model);
    memory_.give_back(card.memory_class);
  }
}

bool NameTables::offer(const std::string& resource) {
  return borrowed_ == nullptr && resources_.offer(resource);
}

std::uint32_t NameTables::withdraw(const std::string& resource) {
  return borrowed_ == nullptr ? resources_.withdraw(resource) : ResourceNames::kNone;
}

std::uint32_t NameTables::offer_bit(const std::string& name) {
  return borrowed_ == nullptr ? offers_.take(name) : borrowed_->offers_.find(name);
}

}  // namespace stowage::core
