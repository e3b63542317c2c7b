// Pods that use claims and disks, and volumes that are attached, by node: who uses a claim, and how
// many volumes of a driver count against a node's limit.
//
// What a claim or an attachment counts as depends on the store: the *_changed() calls say that the
// store has changed, and recount what depends on that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/storage.h"
#include "core/volumes/volume_needs.h"
#include "core/volumes/volume_store.h"

namespace stowage::core {

class VolumeUsers {
 public:
  explicit VolumeUsers(const VolumeStore& store) : store_(store) {}
  VolumeUsers(const VolumeUsers&) = delete;
  VolumeUsers& operator=(const VolumeUsers&) = delete;

  // Only pods with claims or disks are kept. Idempotent: the newest word about a pod counts.
  void add_pod(const PodSpec& pod, std::string_view node);
  void remove_pod(const std::string& uid);
  void set(const Attachment& attachment);
  void drop_attachment(const std::string& name);

  void claim_changed(const std::string& name);
  void volume_changed(const std::string& name);
  void class_changed(const std::string& name);

  // ---- questions about a pod, which is not counted as a user of its own claims
  // `removed`: as if these pods, by their uids, were not on the node.
  using Uids = std::set<std::string>;
  // Is a ReadWriteOncePod claim of the pod in use by another one?
  [[nodiscard]] bool claim_taken(const VolumeNeeds& needs, const Uids& removed = {}) const;
  // Does a pod on the node use a disk of this one in a way that excludes it?
  [[nodiscard]] bool disk_taken(const PodSpec& pod, const std::string& node,
                                const Uids& removed) const;
  // Would the node have more volumes of a driver than its limit, and the pod add to them?
  [[nodiscard]] bool over_limit(const VolumeNeeds& needs, const std::string& node,
                                const Uids& removed) const;

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
  struct Attached {
    Attachment attachment;
    Mount as;
  };

  [[nodiscard]] Mount mount_of(const Claim& claim) const;
  [[nodiscard]] Mount mount_of(const Attachment& attachment) const;
  void count(const std::string& node, const Mount& mount, const Users& change);
  void recount_attachment(Attached& attached);
  [[nodiscard]] std::int64_t own_uses(const PodSpec& pod, const std::string& node,
                                      const Mount& mount) const;
  // By how many claims of these pods each mount on the node is used.
  [[nodiscard]] std::map<Mount, std::int64_t> uses_by(const Uids& uids,
                                                      const std::string& node) const;

  const VolumeStore& store_;
  std::map<std::string, Guest> guests_;                          // by uid
  std::map<std::string, Load> loads_;                            // by node
  std::map<std::string, Use> uses_;                              // by claim
  std::map<std::string, Attached> attachments_;                  // by name
  std::map<std::string, std::set<std::string>> attachments_of_;  // by volume
};

}  // namespace stowage::core
