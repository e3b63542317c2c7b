// The numbers of all names that nodes use (names.h). A reader that stores a number must look it up
// again when the version of its table changes. The tables of a dry run borrow those of the original
// ledger, so names keep their numbers and are not copied.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/ledger/names.h"
#include "core/ledger/state.h"
#include "core/model/node.h"

namespace stowage::core {

class NameTables {
 public:
  // Reads the names of `owner` from now on; it must outlive these tables and not change. Sizes of
  // memory are not borrowed.
  void borrow(const NameTables& owner) { borrowed_ = &owner.source(); }

  [[nodiscard]] const ModelNames& models() const { return source().models_; }
  [[nodiscard]] const ResourceNames& resources() const { return source().resources_; }
  [[nodiscard]] const MemorySizes& memory() const { return memory_; }

  // Numbers a card that its node reports: writes model and memory_class.
  void take(const Card& card, CardState& row);
  // Releases the numbers of cards that a node no longer reports, or is about to report again.
  void give_back(std::span<const CardState> cards);
  // As in ResourceNames. Borrowed tables count nothing: false, kNone.
  bool offer(const std::string& resource);
  std::uint32_t withdraw(const std::string& resource);
  // As in OfferBits.
  std::uint32_t offer_bit(const std::string& name);

 private:
  [[nodiscard]] const NameTables& source() const {
    return borrowed_ == nullptr ? *this : *borrowed_;
  }

  ModelNames models_;
  ResourceNames resources_;
  OfferBits offers_;
  MemorySizes memory_;
  const NameTables* borrowed_ = nullptr;
};

}  // namespace stowage::core
