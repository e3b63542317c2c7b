// What a pod demands beyond the node itself: its neighbours, ports and volumes (tier 2). Made for
// one decision; tested on nodes that fit otherwise, the best first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/reason.h"
#include "core/peers/peers.h"
#include "core/volumes/volume_book.h"

namespace stowage::core {

class Beyond {
 public:
  struct World {
    const Ledger* ledger = nullptr;
    Peers* peers = nullptr;
    const VolumeBook* volumes = nullptr;
  };
  // The pod and the world must stay as they are while this is used.
  Beyond(const PodSpec& pod, const World& world);

  // False: no node is ruled out.
  [[nodiscard]] bool any() const { return rules_ || !needs_.trouble.empty(); }
  // Set: no node will do, whatever it has; why, in words.
  [[nodiscard]] const std::string& trouble() const { return needs_.trouble; }
  [[nodiscard]] ReasonCode check(NodeIndex node) const { return check(node, nullptr); }

  // Pods of one node that a dry run takes away, as far as these demands look at them.
  class Removed {
   public:
    explicit Removed(const Beyond& beyond) : beyond_(beyond), peers_(*beyond.world_.peers) {}
    void take(PodIndex pod);
    void put_back(PodIndex pod);
    // As if they were not there; none also if nothing is demanded.
    [[nodiscard]] ReasonCode check(NodeIndex node) const { return beyond_.check(node, this); }

   private:
    friend class Beyond;
    const Beyond& beyond_;
    Peers::Removed peers_;
    VolumeUsers::Uids uids_;
  };
  // A claim of the pod is for one pod alone, and another one has it: wherever the pod goes.
  [[nodiscard]] bool claim_taken() const;
  // See Peers::Test.
  [[nodiscard]] std::size_t others() const { return peers_.others(); }
  // Do events about volumes and claims make a difference to this pod?
  [[nodiscard]] bool uses_volumes() const { return needs_.any(); }
  [[nodiscard]] std::vector<ClaimStep> claims_on(NodeIndex node) const;

  // Soft preferences, heeded among nodes that the policy finds equal. False: it has none.
  [[nodiscard]] bool prefers() const;
  // The one that the pod likes best; of several the first. Requires: at least one.
  [[nodiscard]] NodeIndex finest(const std::vector<NodeIndex>& nodes) const;

 private:
  [[nodiscard]] ReasonCode check(NodeIndex node, const Removed* removed) const;

  const PodSpec* pod_ = nullptr;
  World world_;
  Peers::Test peers_;
  VolumeNeeds needs_;
  bool rules_ = false;
};

// Could removing pods from the node, or waiting for some to end, help against this reason?
[[nodiscard]] bool curable(ReasonCode code);

}  // namespace stowage::core
