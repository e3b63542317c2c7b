// Removes one entry of an index (a map of sets or maps), and the key with its last entry.
#pragma once

#include <string>

namespace stowage::core {

template <class Index, class Entry>
void erase_entry(Index& index, const std::string& key, const Entry& entry) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(entry);
  if (found->second.empty()) index.erase(found);
}

}  // namespace stowage::core
