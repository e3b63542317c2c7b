#include "gpu/fake.h"

#include <set>
#include <utility>

#include "gpu/text_file.h"

namespace stowage::gpu {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20U;

}  // namespace

void FakeSource::look() {
  auto text = read_text_file(options_.path, kBytesMax);
  if (!text) {
    trouble_ = text.error().message;
    text_.reset();
    return;
  }
  if (text_ == *text) return;
  text_ = *std::move(text);
  auto cards = parse_fake_cards(*text_, options_.path, options_.node);
  if (!cards) {
    trouble_ = cards.error().message;
    return;
  }
  trouble_.clear();
  std::multiset<Fault> told(cards_.faults.begin(), cards_.faults.end());
  for (const Fault& fault : cards->faults) {
    if (const auto before = told.find(fault); before != told.end()) {
      told.erase(before);
    } else {
      pending_.push_back(fault);
    }
  }
  stale_ = stale_ || cards->inventory != cards_.inventory;
  cards_ = *std::move(cards);
  known_ = true;
}

Result<Inventory> FakeSource::inventory() {
  look();
  if (!known_) return fail(trouble_);
  stale_ = false;
  return cards_.inventory;
}

Result<std::vector<CardSample>> FakeSource::sample() {
  look();
  if (!known_) return fail(trouble_);
  return cards_.samples;
}

std::vector<Fault> FakeSource::faults() {
  look();
  return std::exchange(pending_, {});
}

}  // namespace stowage::gpu
