// The bytes of request bodies that a server buffers over all connections, and the part of one
// request. Used on the loop's thread. For src/net only.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace stowage::net {

struct BodyBudget {
  std::size_t max = 0;
  std::size_t held = 0;
};

// Returns its bytes on destruction. Without a budget it is never refused.
class BodyCharge {
 public:
  BodyCharge() = default;
  explicit BodyCharge(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  ~BodyCharge() { clear(); }
  BodyCharge(BodyCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyCharge& operator=(BodyCharge&& other) noexcept {
    if (this == &other) return *this;
    clear();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  // Raises the charge to `bytes`. False, and nothing changes, if the total would exceed the budget.
  [[nodiscard]] bool raise(std::size_t bytes) {
    if (budget_ == nullptr || bytes <= bytes_) return true;
    const std::size_t others = budget_->held - bytes_;
    if (others > budget_->max || bytes > budget_->max - others) return false;
    budget_->held = others + bytes;
    bytes_ = bytes;
    return true;
  }

  void clear() {
    if (budget_ != nullptr) budget_->held -= bytes_;
    bytes_ = 0;
  }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace stowage::net
