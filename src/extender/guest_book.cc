#include "extender/guest_book.h"

#include <utility>

namespace stowage::extender {

Guest& GuestBook::visit(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  if (found != by_uid_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }
  if (entries_.size() >= size_max_) {
    by_uid_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(uid, Guest{});
  by_uid_.emplace(uid, entries_.begin());
  return entries_.front().second;
}

Guest* GuestBook::find(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &found->second->second;
}

void GuestBook::forget(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return;
  entries_.erase(found->second);
  by_uid_.erase(found);
}

}  // namespace stowage::extender
