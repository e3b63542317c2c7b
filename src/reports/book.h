// What the agents have told, node by node. Pure: the time is given. One thread.
//
//   (unknown) --first word--> fresh --no word for a while--> silent --a word--> fresh
//
// What a node has told stays until it is told otherwise or forgotten: silence means that nobody
// knows whether it still holds, not that it does not.
//
// Memory is counted, here and where copies of it are kept (the metrics API, the roster): a node has
// a budget, and all nodes together have one. Where that is spent, nodes that need no more than an
// equal part of it are taken in all the same: who tells much takes nothing from who tells little.
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

#include "base/result.h"
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
  std::size_t node_bytes_max = std::size_t{4} << 20U;
  std::size_t bytes_max = std::size_t{512} << 20U;  // of all nodes together
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

  // An error says what there is no room for. What there is room for has been taken in.
  [[nodiscard]] Status hear(const std::string& node, codec::AgentReport report, net::Moment now);
  // Marks those who have been silent for too long. To be called every now and then.
  void look(net::Moment now);
  // The cluster has the node no more. Listeners hear that its pods have gone.
  void forget(const std::string& node);

  [[nodiscard]] const NodePage* page(const std::string& node) const;  // null: never heard
  [[nodiscard]] std::vector<const NodePage*> pages() const;           // by name

  struct Counters {
    std::uint64_t reports = 0;
    std::uint64_t refused = 0;             // reports for which there was no room: the sum of these
    std::uint64_t refused_nodes = 0;       // too many nodes
    std::uint64_t refused_pods = 0;        // too many pods of a node
    std::uint64_t refused_node_bytes = 0;  // the node's budget is spent
    std::uint64_t refused_bytes = 0;       // that of all nodes is
    std::uint64_t silences = 0;
    std::size_t nodes = 0;
    std::size_t silent = 0;
    std::size_t pods = 0;
    std::size_t bytes = 0;  // that all pages take
  };
  [[nodiscard]] Counters counters() const;

 private:
  using Order = std::list<std::string>;  // names; who has not been heard for longest is first
  struct Entry {
    NodePage page;
    Order::iterator turn;   // in `silent_` if the page is, else in `order_`
    std::size_t bytes = 0;  // that the page takes
  };
  enum class Room : std::uint8_t { there, too_many_nodes, too_many_pods, node_spent, all_spent };
  [[nodiscard]] Room room(const Entry& entry, std::size_t before, std::size_t after) const;
  void charge(Entry& entry, std::size_t before, std::size_t after);
  [[nodiscard]] Status refuse(Room why);
  [[nodiscard]] Room take_cards(Entry& entry, std::vector<codec::ReportedCard> cards,
                                net::Moment now, PageChange& change);
  void take_load(Entry& entry, const std::vector<codec::ReportedLoad>& load, net::Moment now,
                 PageChange& change);
  [[nodiscard]] Room take_pods(Entry& entry, codec::ReportedPods pods, PageChange& change);
  [[nodiscard]] Room put_pod(Entry& entry, const std::string& name, codec::ReportedPod pod,
                             PageChange& change);
  void drop_pod(Entry& entry, const std::string& name, PageChange& change);
  void tell(const NodePage& page, const PageChange& change) const;

  BookOptions options_;
  std::vector<Listener> listeners_;
  std::unordered_map<std::string, Entry> entries_;
  Order order_;
  Order silent_;
  std::size_t bytes_ = 0;
  Counters counters_;
};

}  // namespace stowage::reports
