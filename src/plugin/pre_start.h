// One call of PreStartContainer: finds out which container is about to start, and prepares the
// cards that were decided for it.
//
//   devices -> the kubelet's checkpoint: pod uid, container, and the CDI name that we answered
//           -> podresources: no other container holds the devices
//           -> the pod, from our watch -> its signed decision (or the one on our disk)
//           -> the cards of this node -> the CDI specification of that name
//
// The kubelet passes the CDI name of its checkpoint to the runtime, so what is written here reaches
// the container of that name and no other. Several containers with the same devices (an init
// container and a later one) have names of their own: all of them are prepared.
//
// What is about to come is awaited, as long as the kubelet waits. What is wrong fails at once; the
// sentence is in the events of the pod.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "plugin/checkpoint_file.h"
#include "plugin/injection.h"
#include "plugin/isolation.h"
#include "plugin/messages.h"
#include "plugin/node_view.h"
#include "plugin/record_store.h"

namespace stowage::plugin {

// Shared by all calls; lives longer than they do.
struct PreStartDeps {
  net::EventLoop& loop;
  NodeView& view;
  CheckpointFile& checkpoint;
  RecordStore& records;
  Injection& injection;
  base::Log& log;
  std::string node;
  std::string mps_root;  // empty: shares are not limited
  std::function<std::int64_t()> unix_seconds;
  std::map<Isolation, std::uint64_t> isolations;  // containers that got cards, by level
};

struct PreStartOptions {
  net::Duration patience = std::chrono::seconds{25};
  net::Duration settle = std::chrono::milliseconds{30};  // for runtimes to notice the file
  net::Duration look_min = std::chrono::milliseconds{20};
  net::Duration look_max = std::chrono::seconds{1};
  net::Duration list_wait = std::chrono::seconds{2};    // for podresources
  net::Duration fetch_after = std::chrono::seconds{2};  // until a missing pod is read by its name
};

class PreStart {
 public:
  enum class Outcome : std::uint8_t { prepared, refused, timed_out };
  struct End {
    Outcome outcome = Outcome::refused;
    std::string why;  // if not prepared
  };
  using Done = std::function<void(const End&)>;

  // `done` is called once, not inside start(). It may destroy this object.
  struct Ask {
    std::string resource;
    Ids ids;
  };
  PreStart(PreStartDeps& deps, const PreStartOptions& options, Ask ask, Done done);
  ~PreStart();
  PreStart(const PreStart&) = delete;
  PreStart& operator=(const PreStart&) = delete;

  void start();
  void look_soon();  // something that it may wait for has changed

 private:
  // A container of the checkpoint that holds exactly these devices.
  struct Candidate {
    std::string pod_uid;
    std::string container;
    std::string name;  // of the CDI device
    bool on_node = false;
  };
  // What a step leads to.
  struct Step {
    enum class Kind : std::uint8_t { ready, wait, wrong };
    Kind kind = Kind::ready;
    std::string why;
  };
  [[nodiscard]] static Step wait(std::string why) { return {Step::Kind::wait, std::move(why)}; }
  [[nodiscard]] static Step wrong(std::string why) { return {Step::Kind::wrong, std::move(why)}; }

  void look();
  [[nodiscard]] Step step();
  [[nodiscard]] Step find_candidates();
  [[nodiscard]] Step check_entry(const CheckpointEntry& entry);
  [[nodiscard]] Step confirm();
  [[nodiscard]] Step check_holder(const Holder& holder) const;
  [[nodiscard]] Step decide(const Candidate& candidate);
  [[nodiscard]] Step prepare(const Candidate& candidate, bool given_before);
  [[nodiscard]] const dialect::PodObject* pod_of(const Candidate& candidate) const;
  void list_holders();
  void fetch_pods();
  void finish(Outcome outcome, std::string why);

  PreStartDeps& deps_;
  PreStartOptions options_;
  Ask ask_;
  Done done_;
  net::Moment began_{};
  net::Timer timer_;
  net::Timer end_timer_;
  base::Backoff pauses_;
  bool finished_ = false;
  bool wrote_ = false;  // a specification
  std::string waits_for_;

  std::vector<Candidate> candidates_;
  // Podresources, asked once per look that needs it.
  enum class Listing : std::uint8_t { not_asked, asked, known, failed };
  Listing listing_ = Listing::not_asked;
  std::vector<Holder> holders_;
  net::Moment list_due_{};
  std::map<std::string, dialect::PodObject> fetched_;  // by uid
  bool fetching_ = false;
  net::Moment fetched_at_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::plugin
