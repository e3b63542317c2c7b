#include "core/ledger/names.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace stowage::core {
namespace {

constexpr std::uint32_t kLastBit = 31;

}  // namespace

ModelNames::ModelNames() : names_(1), cards_(1, 0) { numbers_.emplace("", 0); }

std::uint16_t ModelNames::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::uint16_t{0} : found->second;
}

std::uint16_t ModelNames::take(const std::string& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) {
    ++cards_[known->second];
    return known->second;
  }
  std::size_t number = names_.size();
  for (std::size_t looks = 0; number > kRoomy && looks < names_.size(); ++looks) {
    const std::uint16_t at = oldest_;
    oldest_ = std::size_t{at} + 1 < names_.size() ? static_cast<std::uint16_t>(at + 1) : 1;
    if (cards_[at] == 0) number = at;
    if (number == at) break;
  }
  if (number > std::numeric_limits<std::uint16_t>::max()) {
    ++cards_[0];
    return 0;
  }
  if (number == names_.size()) {
    names_.emplace_back();
    cards_.push_back(0);
  } else {
    numbers_.erase(names_[number]);
    ++version_;
  }
  names_[number] = name;
  cards_[number] = 1;
  numbers_.emplace(name, static_cast<std::uint16_t>(number));
  return static_cast<std::uint16_t>(number);
}

void ModelNames::give_back(std::uint16_t number) {
  STOWAGE_CHECK(cards_[number] > 0);
  --cards_[number];
}

std::uint16_t MemorySizes::take(std::int32_t mib) {
  const auto known = std::find(sizes_.begin(), sizes_.end(), mib);
  auto number = static_cast<std::size_t>(known - sizes_.begin());
  if (known == sizes_.end()) {
    if (sizes_.size() ==
        kMost) {  // reuse the number of an unused size; if none exists, the last number
      const auto unused = std::find(cards_.begin(), cards_.end(), 0U);
      number = std::min<std::size_t>(static_cast<std::size_t>(unused - cards_.begin()), kMost - 1);
      if (unused != cards_.end()) sizes_[number] = mib;
    } else {
      sizes_.push_back(mib);
      cards_.push_back(0);
    }
  }
  ++cards_[number];
  return static_cast<std::uint16_t>(number);
}

void MemorySizes::give_back(std::uint16_t number) {
  STOWAGE_CHECK(cards_[number] > 0);
  --cards_[number];
}

bool ResourceNames::offer(const std::string& name) {
  const auto [at, fresh] = numbers_.try_emplace(name, kNone);
  if (!fresh) {
    ++nodes_[at->second];
    return false;
  }
  if (free_.empty()) {
    at->second = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(1);
  } else {
    at->second = free_.back();
    free_.pop_back();
    nodes_[at->second] = 1;
  }
  ++version_;
  return true;
}

std::uint32_t ResourceNames::withdraw(const std::string& name) {
  const auto found = numbers_.find(name);
  STOWAGE_CHECK(found != numbers_.end());
  const std::uint32_t number = found->second;
  if (--nodes_[number] > 0) return kNone;
  numbers_.erase(found);
  free_.push_back(number);
  ++version_;
  return number;
}

std::uint32_t ResourceNames::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? kNone : found->second;
}

std::uint32_t OfferBits::take(const std::string& name) {
  std::uint32_t number = kLastBit;
  if (numbers_.size() <= kLastBit || numbers_.contains(name)) {
    const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
    number = numbers_.emplace(name, next).first->second;
  }
  return std::uint32_t{1} << std::min(number, kLastBit);
}

std::uint32_t OfferBits::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  const std::uint32_t number = found == numbers_.end() ? kLastBit : found->second;
  return std::uint32_t{1} << std::min(number, kLastBit);
}

}  // namespace stowage::core
