// Keeps the node's annotation that lists its cards: written when it differs, and read from time to
// time, because others may have changed it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "codec/kubernetes.h"
#include "core/model/node.h"
#include "kube/api_client.h"
#include "kube/object_access.h"
#include "kube/pacing.h"

namespace stowage::agent {

struct ReporterOptions {
  std::string node;
  net::Duration spacing = std::chrono::seconds{2};  // between two writes
  net::Duration look_every = std::chrono::minutes{5};
  net::Duration backoff_min = std::chrono::seconds{1};
  net::Duration backoff_max = std::chrono::minutes{1};
  std::uint64_t seed = 1;
};

class Reporter {
 public:
  Reporter(kube::ApiClient& client, ReporterOptions options, base::Log& log);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void start();
  // The current state of the cards.
  void set_cards(const std::vector<core::Card>& cards, const core::LinkMatrix& links);
  // The cards cannot be read. An earlier inventory in the annotation stays, with all cards
  // unhealthy: no pod must go to a driver that does not answer.
  void set_unreadable();

  struct Snapshot {
    bool written = false;  // the node has the intended text
    std::string trouble;
    std::uint64_t writes = 0;
    std::uint64_t failures = 0;
  };
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }

 private:
  void look();
  void looked(const kube::ObjectOutcome& outcome);
  void write();
  void failed(const std::string& why);
  void go_on(net::Duration pause);
  void write_soon();
  [[nodiscard]] std::optional<std::string> wanted() const;

  const ReporterOptions options_;
  net::EventLoop& loop_;
  base::Log& log_;
  kube::ObjectAccess access_;
  codec::Decoder decoder_;
  kube::JitteredBackoff backoff_;
  std::optional<std::string> text_;   // the text to write
  bool unreadable_ = false;           // no text: keep the inventory of the node, as unhealthy
  std::optional<std::string> there_;  // the last seen text of the node; unset: not seen yet
  bool under_way_ = false;
  net::Moment wrote_{};
  net::Timer timer_;
  Snapshot snapshot_;
};

}  // namespace stowage::agent
