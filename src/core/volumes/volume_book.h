// Volumes, claims and who uses them: may a pod with these claims go to that node, and what has to
// be bound for it. Follows what the kube-scheduler plugins VolumeBinding, VolumeZone,
// NodeVolumeLimits and VolumeRestrictions enforce.
//
// Pure and deterministic: ordered containers, ties by size and then by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/event.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/reason.h"
#include "core/model/storage.h"
#include "core/volumes/reach.h"

namespace stowage::core {

class VolumeBook {
 public:
  // ---- what the API says
  void set(const Claim& claim);
  void set(const Volume& volume);
  void set(const StorageClass& storage_class);
  void set(const StorageDriver& driver);
  void set(const StorageCapacity& capacity);
  void set(const NodeVolumeLimits& limits);
  void set(const Attachment& attachment);
  void drop(ThingKind kind, const std::string& name);  // other kinds are ignored

  // ---- pods that are on a node, or on their way to one
  // Only pods with claims or disks are kept. Idempotent: the newest word about a pod counts.
  void add_pod(const PodSpec& pod, std::string_view node);
  void remove_pod(const std::string& uid);
  // The volumes that a pod on its way will bind: nobody else is given them. Until release(), or
  // until the API shows them bound to that claim.
  void reserve(const std::string& uid, const std::vector<ClaimStep>& steps, std::string_view node);
  void release(const std::string& uid);

  // ---- questions about a pod that has no node yet (it is not counted as a user of its own claims)
  // What its claims mean now, looked up once per decision. Valid until set() or drop(); pods may
  // come and go meanwhile. Costs little: what a check of a node costs grows with the pod's claims
  // and with what that node reaches, not with the cluster.
  struct Needs {
    std::string trouble;                 // set: no node will do; says why, in words for a person
    std::vector<const Claim*> bound;     // to a volume that exists
    std::vector<const Claim*> waiting;   // for their first consumer
    std::vector<std::string> exclusive;  // ReadWriteOncePod claims among them, "namespace/name"
    const PodSpec* pod = nullptr;
    [[nodiscard]] bool any() const { return pod != nullptr; }
  };
  [[nodiscard]] Needs look_up(const PodSpec& pod) const;

  // Requires: no trouble. none, volume_in_use, volume_limit, volume_node or volume_none, in this
  // order. `removed`: as if these pods, by their uids, were not on the node.
  using Uids = std::set<std::string>;
  [[nodiscard]] ReasonCode check(const Needs& needs, const NodeSpec& node,
                                 const Uids& removed = {}) const;
  // Is a ReadWriteOncePod claim of the pod in use by another one? Then no node will do.
  [[nodiscard]] bool claim_taken(const Needs& needs, const Uids& removed = {}) const;
  // What has to be bound before the pod can be. Requires: check() gave none.
  [[nodiscard]] std::vector<ClaimStep> plan(const Needs& needs, const NodeSpec& node) const;

 private:
  // What takes one place of a node's limit: a volume of a CSI driver, or one that its provisioner
  // has still to make for a claim.
  struct Mount {
    std::string driver;
    std::string handle;    // empty: nothing is counted
    bool to_come = false;  // then `handle` is the name of the claim
    friend auto operator<=>(const Mount&, const Mount&) = default;
  };
  struct Users {  // of one mount on one node
    std::int64_t pods = 0;
    std::int64_t attachments = 0;
    [[nodiscard]] std::int64_t all() const { return pods + attachments; }
  };
  struct DiskUse {
    std::string uid;  // of the pod
    Disk disk;
  };
  struct Load {  // of one node
    std::map<Mount, Users> mounts;
    std::map<std::string, std::int64_t> count;  // of these, by driver
    std::multimap<std::string, DiskUse> disks;  // by their ids
  };
  struct Guest {  // a pod on a node
    std::string node;
    std::map<std::string, bool> claims;  // by name; true: in its own right, not made for the pod
    std::vector<Disk> disks;
  };
  struct Use {                                  // of one claim, by guests
    std::map<std::string, std::int64_t> nodes;  // how many of them on each
    Uids direct;                                // of those that use it in their own right
    Mount as;                                   // what is counted for it on these nodes
  };
  struct Hold {  // a step of a pod on its way
    std::string volume;
    std::string node;
  };
  struct Holder {
    std::string uid;
    std::string claim;
    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  struct Attached {
    Attachment attachment;
    Mount as;
  };

  [[nodiscard]] static std::string claim_name(const PodSpec& pod, const ClaimUse& use);
  void unset_claim(const std::string& name);
  void unset_volume(const std::string& name);
  void unset_capacity(const std::string& name);
  void unset_attachment(const std::string& name);
  [[nodiscard]] Mount mount_of(const Claim& claim) const;
  [[nodiscard]] Mount mount_of(const Attachment& attachment) const;
  void count(const std::string& node, const Mount& mount, const Users& change);
  void recount_claim(const std::string& name);
  void recount_attachment(const std::string& name);
  void recount_volume(const std::string& name);
  void recount_class(const std::string& name);
  void unhold(const std::string& uid, const std::string& claim);

  [[nodiscard]] const Claim* find_claim(const PodSpec& pod, const ClaimUse& use) const;
  [[nodiscard]] std::string trouble_of(const PodSpec& pod) const;
  [[nodiscard]] bool waits(const Claim& claim) const;
  [[nodiscard]] bool in_use(const Needs& needs, const NodeSpec& node, const Uids& removed) const;
  [[nodiscard]] bool over_limit(const Needs& needs, const NodeSpec& node,
                                const Uids& removed) const;
  // By how many claims of these pods each mount on the node is used.
  [[nodiscard]] std::map<Mount, std::int64_t> uses_by(const Uids& uids,
                                                      const std::string& node) const;
  [[nodiscard]] bool reaches_bound(const Needs& needs, const NodeSpec& node) const;
  [[nodiscard]] std::int64_t own_uses(const PodSpec& pod, const std::string& node,
                                      const Mount& mount) const;

  using Chosen = std::set<std::string>;  // names of volumes
  // Unset: a claim finds no volume, and none can be made for it here.
  [[nodiscard]] std::optional<std::vector<ClaimStep>> steps_on(const Needs& needs,
                                                               const NodeSpec& node) const;
  [[nodiscard]] const Hold* hold_of(const Claim& claim, const PodSpec& asker) const;
  [[nodiscard]] bool held_for_another(const std::string& volume, const Claim& claim,
                                      const PodSpec& asker) const;
  [[nodiscard]] std::vector<const Volume*> promised(const Claim& claim, const PodSpec& asker) const;
  [[nodiscard]] const Volume* volume_for(const Claim& claim, const PodSpec& asker,
                                         const NodeSpec& node, const Chosen& chosen) const;
  [[nodiscard]] bool can_be_made(const Claim& claim, const NodeSpec& node) const;

  // ---- by name
  std::map<std::string, Claim> claims_;
  std::map<std::string, Volume> volumes_;
  std::map<std::string, StorageClass> classes_;
  std::map<std::string, StorageDriver> drivers_;
  std::map<std::string, StorageCapacity> capacities_;
  std::map<std::string, NodeVolumeLimits> limits_;  // by node
  std::map<std::string, Attached> attachments_;
  // ---- other ways to find them
  std::map<std::string, std::set<std::string>> claims_on_;       // by volume
  std::map<std::string, std::set<std::string>> attachments_of_;  // by volume
  std::map<std::string, std::set<std::string>> volumes_for_;     // by the claim in claimRef
  std::map<std::string, Reach> free_volumes_;                    // by class
  std::map<std::string, Reach> pools_;                           // capacities, by class
  // ---- pods
  std::map<std::string, Guest> guests_;                       // by uid
  std::map<std::string, Load> loads_;                         // by node
  std::map<std::string, Use> uses_;                           // by claim
  std::map<std::string, std::set<std::string>> reserved_;     // claims, by uid
  std::map<std::string, std::map<std::string, Hold>> holds_;  // by claim, by uid
  std::map<std::string, std::set<Holder>> held_;              // by volume
};

}  // namespace stowage::core
