// What it would take to make room for a pod on one node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/body.h"

namespace stowage::core {

struct Engine::Body::Clearing {
  NodeIndex node;
  std::vector<PodIndex> victims;  // that have to be told to go; rooms of other pods among them
  Assignment cards;               // of the pod, once they are gone
  std::int32_t violations = 0;    // of disruption budgets
  std::int32_t top = 0;           // the highest priority among the victims
  std::int64_t sum = 0;           // of their priorities, each above the least possible one
  std::int64_t evictions = 0;     // victims that are pods
  std::int64_t newest = 0;        // when the oldest of the most important victims was started
  std::uint32_t rank = 0;

  // Lower is better: fewest budgets broken, least important victims, fewest of them, and among
  // those of equal importance the ones that lose the least work.
  [[nodiscard]] auto price() const {
    return std::tuple(violations, evictions == 0 ? 0 : 1, top, evictions, sum, -newest, rank);
  }
};

// Pods taken away for a dry run, as far as their neighbours and volumes are concerned. Whatever is
// still away at the end is put back.
class Lifted {
 public:
  struct From {
    const Ledger& ledger;
    Peers& peers;
    VolumeBook& volumes;
  };
  Lifted(From from, const std::vector<PodIndex>& pods) : from_(from) {
    for (const PodIndex pod : pods) lift(pod);
  }
  ~Lifted() {
    while (!away_.empty()) put_back(away_.begin()->first);
  }
  Lifted(const Lifted&) = delete;
  Lifted& operator=(const Lifted&) = delete;

  void lift(PodIndex pod) {
    const PodRecord& record = from_.ledger.pod(pod);
    away_[pod] = {.seat = from_.peers.lift(pod), .user = from_.volumes.users().lift(record.uid)};
  }
  void put_back(PodIndex pod) {
    const auto found = away_.find(pod);
    if (found == away_.end()) return;
    from_.peers.put_back(pod, std::move(found->second.seat));
    if (found->second.user) {
      from_.volumes.users().add_pod(*found->second.user,
                                    from_.ledger.name(from_.ledger.pod(pod).node));
    }
    away_.erase(found);
  }

 private:
  struct Away {
    std::unique_ptr<Peers::Seat> seat;
    std::optional<PodSpec> user;
  };
  From from_;
  std::map<PodIndex, Away> away_;
};

// Pods of a node that may have to give way.
struct Engine::Body::OnNode {
  std::vector<PodIndex> pods;     // less important ones; who had better stay comes first
  std::vector<PodIndex> leaving;  // that go anyway
};

}  // namespace stowage::core
