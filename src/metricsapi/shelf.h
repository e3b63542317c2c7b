// What the API has to show, in versions: which objects there are, when each last changed, and which
// are no more. Follows a reports::Book; the objects themselves are made from its pages when they
// are asked for. One thread.
//
// Every change takes the next version, and an object stands under its newest one only. So whoever
// has seen everything up to a version finds what changed since by walking on from there, however
// far behind it is: nothing is kept for it, and of several changes it sees the last. Objects that
// are gone are remembered too, but no more than a number of them: who has not seen the end of one
// that was forgotten has missed something (see lost()) and must begin anew.
//
//   versions ..., 17 n1, 21 d.p (gone), 22 n2            version() == 22
//                            '- next(.., after 17)
//
// Versions begin with the time, so that those of an earlier process are older than all of these.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metricsapi/objects.h"
#include "reports/book.h"

namespace stowage::metricsapi {

struct ShelfOptions {
  // A node whose load alone has changed takes a new version so often at most: load changes all the
  // time, and who watches wants to know of the rest at once.
  net::Duration load_every = std::chrono::seconds{10};
  std::size_t gone_max = 16'384;  // remembered, of each resource
};

class Shelf {
 public:
  // Both outlive the shelf's last use; the book may be gone when the shelf is destroyed.
  Shelf(ShelfOptions options, reports::Book& book, std::function<Now()> clock);
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  struct Entry {
    std::string name;
    std::uint64_t version = 0;
    std::uint64_t born = 0;  // its first version
    bool gone = false;
    std::int64_t changed_unix = 0;
    // Of a pod: who say that they have it, the one that said it last at the end. Two nodes may,
    // when a pod has been made anew elsewhere under its name.
    struct Teller {
      std::string node;
      std::string pod;  // "namespace/name"
    };
    std::vector<Teller> tellers;
    net::Moment load_told{};  // of a node
  };

  // Nodes that have cards, as others say. Those of whom an agent has told count only by its word.
  void set_others(std::vector<OtherNode> nodes);

  // Another one has told of these objects meanwhile, in versions of its own: whoever comes with one
  // of them, or with one from before, begins anew.
  void begin_term();

  [[nodiscard]] std::uint64_t version() const { return version_; }
  // Who has seen less than that may have missed the end of an object.
  [[nodiscard]] std::uint64_t lost(Resource resource) const { return side(resource).lost; }
  // The first change after that version, perhaps an end; null if there is none.
  [[nodiscard]] const Entry* next(Resource resource, std::uint64_t after) const;
  [[nodiscard]] const Entry* find(Resource resource, std::string_view name) const;  // null: none
  // By name; without those that are gone.
  [[nodiscard]] std::vector<const Entry*> all(Resource resource) const;

  // As it is now. Of one that is gone: the last word about it.
  [[nodiscard]] Thing thing(Resource resource, const Entry& entry, const Now& now) const;
  [[nodiscard]] Now now() const { return clock_(); }

  // Called after every change, in the middle of whatever changes it.
  void listen(std::function<void()> listener) { listener_ = std::move(listener); }

 private:
  struct Side {
    std::map<std::string, Entry, std::less<>> by_name;
    std::map<std::uint64_t, Entry*> by_version;
    std::deque<std::uint64_t> graves;  // versions of those that are gone, or were
    std::uint64_t lost = 0;
  };

  [[nodiscard]] Side& side(Resource resource) { return sides_[static_cast<std::size_t>(resource)]; }
  [[nodiscard]] const Side& side(Resource resource) const {
    return sides_[static_cast<std::size_t>(resource)];
  }
  Entry& touch(Resource resource, const std::string& name);
  void bury(Resource resource, const std::string& name);
  void on_page(const reports::NodePage& page, const reports::PageChange& change);
  void on_node(const reports::NodePage& page, const reports::PageChange& change);
  void tell(const reports::NodePage& page, const std::string& key);
  void untell(const std::string& node, const std::string& key);

  const ShelfOptions options_;
  reports::Book& book_;
  std::function<Now()> clock_;
  std::function<void()> listener_;
  std::uint64_t version_ = 0;
  std::array<Side, kResources> sides_;
  std::map<std::string, OtherNode> others_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
