// Pods that use claims and disks, and attached volumes, by node: the users of a claim, and how many
// volumes of a driver count against a node's limit.
//
// How a claim or an attachment counts depends on the store. The *_changed() calls report a change
// of the store and recount what depends on it.
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

  // Only pods with claims or disks are stored. Idempotent: the latest spec of a pod counts.
  void add_pod(const PodSpec& pod, std::string_view node);
  void remove_pod(const std::string& uid);
  void set(const Attachment& attachment);
  void drop_attachment(const std::string& name);

  void claim_changed(const std::string& name);
  void volume_changed(const std::string& name);
  void class_changed(const std::string& name);

  // ---- queries about a pod, which is not counted as a user of its own claims
  // `removed`: uids of pods of the node to ignore.
  using Uids = std::set<std::string>;
  // True if another pod uses a ReadWriteOncePod claim of the pod.
  [[nodiscard]] bool claim_taken(const VolumeNeeds& needs, const Uids& removed = {}) const;
  // True if a pod on the node uses a disk of this pod in a way that excludes it.
  [[nodiscard]] bool disk_taken(const PodSpec& pod, const std::string& node,
                                const Uids& removed) const;
  // True if the pod adds volumes of a driver to the node and the node would exceed its limit.
  [[nodiscard]] bool over_limit(const VolumeNeeds& needs, const std::string& node,
                                const Uids& removed) const;

 private:
  // One unit of a node's limit: a volume of a CSI driver, or one that its provisioner will create
  // for a claim.
  struct Mount {
    std::string driver;
    std::string handle;    // empty: not counted
    bool to_come = false;  // `handle` is the name of the claim
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
    std::map<std::string, std::int64_t> count;  // number of mounts by driver
    std::multimap<std::string, DiskUse> disks;  // by disk id
  };
  struct PodUse {  // a pod on a node
    std::string node;
    std::map<std::string, bool>
        claims;  // by name; true: used directly, not only as an ephemeral claim
    std::vector<Disk> disks;
  };
  struct Use {                                  // of one claim, by pods
    std::map<std::string, std::int64_t> nodes;  // number of these pods by node
    Uids direct;                                // uids of pods that use it directly
    Mount as;                                   // how it counts on these nodes
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
  // For each mount on the node, the number of claims of these pods that use it.
  [[nodiscard]] std::map<Mount, std::int64_t> uses_by(const Uids& uids,
                                                      const std::string& node) const;

  const VolumeStore& store_;
  std::map<std::string, PodUse> pod_uses_;                       // by uid
  std::map<std::string, Load> loads_;                            // by node
  std::map<std::string, Use> uses_;                              // by claim
  std::map<std::string, Attached> attachments_;                  // by name
  std::map<std::string, std::set<std::string>> attachments_of_;  // by volume
};

}  // namespace stowage::core
