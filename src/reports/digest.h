// What of the book the ledger has to know, gathered and handed on in parcels: the book lives on one
// thread, the ledger's doors on another, and agents that talk much are not to be felt there.
//
// Of a node that changes many times between two parcels the last state counts. Loads go by the
// card's id, as ledgers know it. Nothing is sent of a node that the book has forgotten: its ledger
// knew first that the node is gone.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/event.h"
#include "dialect/kubelet_word.h"
#include "net/event_loop.h"
#include "reports/book.h"

namespace stowage::reports {

struct NodeNews {
  struct Pod {
    std::string name;  // "namespace/name"
    dialect::KubeletWord word;
  };
  std::string node;
  std::optional<bool> silent;  // if it has changed
  bool load_told = false;
  std::vector<core::CardsMeasured::Busy> busy;
  net::Moment measured{};  // the oldest of these
  std::vector<Pod> pods;   // that have other devices than before
  std::vector<std::string> gone;
};

struct DigestOptions {
  net::Duration every = std::chrono::milliseconds{100};
  std::size_t nodes_max = 200;  // in one parcel; the others are in the next
};

class Digest {
 public:
  using Send = std::function<void(std::vector<NodeNews>)>;
  // `book` outlives the digest, or lives as long: it is listened to.
  Digest(net::EventLoop& loop, Book& book, DigestOptions options, Send send);
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  // Sends all that is known of a node that is new to the ledger, or of all nodes.
  void tell(const std::string& node);
  void tell_all();
  [[nodiscard]] std::size_t waiting() const { return dirty_.size(); }

 private:
  struct Dirty {
    bool health = false;
    bool load = false;
    std::set<std::string> pods;  // changed or gone
  };
  void note(const NodePage& page, const PageChange& change);
  void mark(const NodePage& page);
  void send_within(net::Duration time);
  void flush();
  [[nodiscard]] static NodeNews news_of(const NodePage& page, const Dirty& dirty);

  Book& book_;
  const DigestOptions options_;
  Send send_;
  std::map<std::string, Dirty> dirty_;  // nodes that the book has
  net::Timer timer_;
  bool due_ = false;
};

}  // namespace stowage::reports
