// The storage objects of the API by name, with secondary indexes. Knows nothing of pods.
//
// Returned pointers are null for unknown objects, and valid until set() or drop().
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/model/event.h"
#include "core/model/storage.h"
#include "core/volumes/reach.h"

namespace stowage::core {

class VolumeStore {
 public:
  using Names = std::set<std::string>;

  void set(const Claim& claim);
  void set(const Volume& volume);
  void set(const StorageClass& storage_class) { classes_[storage_class.name] = storage_class; }
  void set(const StorageDriver& driver) { drivers_[driver.name] = driver; }
  void set(const StorageCapacity& capacity);
  void set(const NodeVolumeLimits& limits) { limits_[limits.node] = limits; }
  void drop(AuxKind kind, const std::string& name);  // other kinds are ignored

  [[nodiscard]] const Claim* claim(const std::string& name) const { return find(claims_, name); }
  [[nodiscard]] const Volume* volume(const std::string& name) const { return find(volumes_, name); }
  [[nodiscard]] const StorageClass* storage_class(const std::string& name) const {
    return find(classes_, name);
  }
  [[nodiscard]] const StorageDriver* driver(const std::string& name) const {
    return find(drivers_, name);
  }
  [[nodiscard]] const StorageCapacity* capacity(const std::string& name) const {
    return find(capacities_, name);
  }
  [[nodiscard]] const NodeVolumeLimits* limits(const std::string& node) const {
    return find(limits_, node);
  }
  // Claims that name the volume, and volumes that name the claim.
  [[nodiscard]] const Names* claims_on(const std::string& volume) const {
    return find(claims_on_, volume);
  }
  [[nodiscard]] const Names* volumes_for(const std::string& claim) const {
    return find(volumes_for_, claim);
  }
  // Volumes that any claim may get, and capacities.
  [[nodiscard]] const Reach* free_volumes(const std::string& storage_class) const {
    return find(free_volumes_, storage_class);
  }
  [[nodiscard]] const Reach* capacities(const std::string& storage_class) const {
    return find(pools_, storage_class);
  }

 private:
  template <class Map>
  [[nodiscard]] static const typename Map::mapped_type* find(const Map& map,
                                                             const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  void drop_claim(const std::string& name);
  void drop_volume(const std::string& name);
  void drop_capacity(const std::string& name);

  // ---- by name
  std::map<std::string, Claim> claims_;
  std::map<std::string, Volume> volumes_;
  std::map<std::string, StorageClass> classes_;
  std::map<std::string, StorageDriver> drivers_;
  std::map<std::string, StorageCapacity> capacities_;
  std::map<std::string, NodeVolumeLimits> limits_;  // by node
  // ---- secondary indexes
  std::map<std::string, Names> claims_on_;     // by volume
  std::map<std::string, Names> volumes_for_;   // by the claim in claimRef
  std::map<std::string, Reach> free_volumes_;  // by class
  std::map<std::string, Reach> pools_;         // capacities, by class
};

}  // namespace stowage::core
