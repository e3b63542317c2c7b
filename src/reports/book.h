// What the agents have told, node by node. Pure: the time is given. One thread.
//
//   (unknown) --first word--> fresh --no word for a while--> silent --a word--> fresh
//
// What a node has told stays until it is told otherwise or forgotten: silence means that nobody
// knows whether it still holds, not that it does not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/agent_report.h"
#include "net/event_loop.h"

namespace stowage::reports {

struct CardLoad {
  codec::ReportedLoad values;
  net::Moment at;  // when it was told
};

struct NodePage {
  std::string node;
  std::string agent;  // its version
  std::vector<codec::ReportedCard> cards;
  net::Moment cards_at{};
  std::map<std::int32_t, CardLoad> load;           // by the card's index
  std::map<std::string, codec::ReportedPod> pods;  // by "namespace/name"
  bool pods_known = false;                         // the whole list has been told
  net::Moment heard{};
  bool silent = false;
};

// What is different. Pods stand under "namespace/name".
struct PageChange {
  bool cards = false;
  bool load = false;
  bool health = false;  // silent, or no longer
  std::vector<std::string> pods_now;
  std::vector<std::string> pods_gone;
  [[nodiscard]] bool any() const {
    return cards || load || health || !pods_now.empty() || !pods_gone.empty();
  }
};

struct BookOptions {
  net::Duration silence = std::chrono::seconds{3};
  std::size_t nodes_max = 20'000;  // words of others are not taken in
  // Of one node. More than any has; an agent is not to fill our memory.
  std::size_t pods_max = 4'096;
  std::size_t cards_max = 512;  // whose load is kept
};

class Book {
 public:
  explicit Book(BookOptions options = {}) : options_(options) {}
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  // Called with every page that has changed, after the change, and what of it. Listeners do not
  // change the book.
  using Listener = std::function<void(const NodePage&, const PageChange&)>;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  // False: there is no room for another node, or for more pods of this one.
  [[nodiscard]] bool hear(const std::string& node, codec::AgentReport report, net::Moment now);
  // Marks those who have been silent for too long. To be called every now and then.
  void look(net::Moment now);
  // The cluster has the node no more. Listeners hear that its pods have gone.
  void forget(const std::string& node);

  [[nodiscard]] const NodePage* page(const std::string& node) const;  // null: never heard
  [[nodiscard]] std::vector<const NodePage*> pages() const;           // by name

  struct Counters {
    std::uint64_t reports = 0;
    std::uint64_t refused = 0;  // no room
    std::uint64_t silences = 0;
    std::size_t nodes = 0;
    std::size_t silent = 0;
    std::size_t pods = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  using Order = std::list<std::string>;  // names; who has not been heard for longest is first
  struct Entry {
    NodePage page;
    Order::iterator turn;  // in `silent_` if the page is, else in `order_`
  };
  // False: not all of them.
  bool take_pods(NodePage& page, codec::ReportedPods pods, PageChange& change);
  void tell(const NodePage& page, const PageChange& change) const;

  BookOptions options_;
  std::vector<Listener> listeners_;
  std::unordered_map<std::string, Entry> entries_;
  Order order_;
  Order silent_;
  Counters counters_;
};

}  // namespace stowage::reports
