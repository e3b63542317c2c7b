#include "leadership.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "objects.h"

namespace stowage::faults {

void Leadership::settle() {
  if (!next_.who.empty() && (now_.who.empty() || over())) now_ = std::exchange(next_, {});
}

void Leadership::written(const local::StoredObject& lease, bool created) {
  settle();
  const json::object tree = lease.tree();
  const Term writer{.who = std::string(local::text_at(tree, "spec.holderIdentity")),
                    .written = world_.now()};
  lasts_ = std::chrono::seconds{local::int_at(tree, "spec.leaseDurationSeconds").value_or(0)};
  if (created && writer.who != now_.who) {
    next_ = writer;
  } else if (!created && writer.who == next_.who) {
    next_.written = writer.written;
  } else {
    now_ = writer;
    next_ = {};
  }
}

const std::string& Leadership::leader() {
  settle();
  return now_.who;
}

std::string Leadership::forbids(const std::string& replica) {
  settle();
  if (replica == next_.who) return "it has made the lease, and the one before still leads";
  if (replica != now_.who) {
    return now_.who.empty() ? "nobody leads" : fmt::format("{} leads", now_.who);
  }
  return over() ? "its lease has run out" : "";
}

}  // namespace stowage::faults
