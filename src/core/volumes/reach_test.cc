#include "core/volumes/reach.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/testing/random.h"

namespace stowage::core {
namespace {

using Op = Requirement::Op;
using testing::Dice;

struct Entry {
  std::int64_t bytes = 0;
  std::optional<std::vector<NodeTerm>> affinity;
  std::optional<LabelSelector> nodes;
  bool is_volume = false;

  [[nodiscard]] Reach::Anchors anchors() const {
    return is_volume ? Reach::anchors_of(affinity) : Reach::anchors_of(nodes);
  }
  [[nodiscard]] bool reached_from(const Labels& labels) const {
    if (!is_volume) return nodes && matches(*nodes, labels);
    if (!affinity) return true;
    for (const auto& term : *affinity) {
      if (matches(term, "", labels)) return true;
    }
    return false;
  }
};

std::vector<Requirement> random_requirements(Dice& dice) {
  std::vector<Requirement> all;
  for (auto n = dice.below(3); n > 0; --n) {
    Requirement one{dice.pick<std::string>({"host", "zone"}),
                    dice.pick({Op::in, Op::in, Op::not_in, Op::exists, Op::does_not_exist}),
                    {}};
    for (auto values = dice.below(3); values > 0; --values) {
      one.values.push_back(dice.pick<std::string>({"1", "2", "3"}));
    }
    all.push_back(std::move(one));
  }
  return all;
}

Entry random_entry(Dice& dice) {
  Entry entry{.bytes = static_cast<std::int64_t>(dice.below(4)), .is_volume = dice.one_in(2)};
  if (dice.one_in(5)) return entry;
  entry.nodes = LabelSelector{.all = random_requirements(dice), .nothing = dice.one_in(8)};
  entry.affinity.emplace();
  for (auto terms = dice.below(3); terms > 0; --terms) {
    NodeTerm term{.labels = random_requirements(dice), .fields = {}};
    if (dice.one_in(6)) term.fields = {{"metadata.name", Op::not_in, {"n"}}};
    entry.affinity->push_back(std::move(term));
  }
  return entry;
}

Labels random_labels(Dice& dice) {
  Labels labels;
  for (const std::string key : {"host", "zone"}) {
    if (!dice.one_in(4)) labels[key] = dice.pick<std::string>({"1", "2", "3"});
  }
  return labels;
}

// The result of a linear search.
std::string smallest_by_hand(const std::map<std::string, Entry>& entries, const Labels& labels,
                             std::int64_t bytes) {
  std::string best;
  for (const auto& [name, entry] : entries) {
    if (entry.bytes < bytes || !entry.reached_from(labels)) continue;
    if (best.empty() || entry.bytes < entries.at(best).bytes) best = name;
  }
  return best;
}

RC_GTEST_PROP(ReachProperty, FindsWhatASearchOfEverythingFinds,
              (const std::vector<std::uint16_t>& seeds)) {
  Reach reach;
  std::map<std::string, Entry> entries;
  for (const auto seed : seeds) {
    Dice dice(seed);
    const std::string name = "e" + std::to_string(dice.below(8));
    if (const auto old = entries.find(name); old != entries.end()) {
      reach.remove(old->second.anchors(), old->second.bytes, name);
      entries.erase(old);
    }
    if (!dice.one_in(4)) {
      const Entry entry = random_entry(dice);
      reach.add(entry.anchors(), entry.bytes, name);
      entries[name] = entry;
    }
    const Labels labels = random_labels(dice);
    const auto bytes = static_cast<std::int64_t>(dice.below(4));
    const std::string* found = reach.smallest(labels, bytes, [&](const std::string& entry) {
      return entries.at(entry).reached_from(labels);
    });
    RC_ASSERT((found == nullptr ? "" : *found) == smallest_by_hand(entries, labels, bytes));
  }
}

TEST(Reach, OnlyWhatTheLabelsOfTheNodeAllowIsLookedAt) {
  Reach reach;
  for (const std::string host : {"a", "b", "c"}) {
    const NodeTerm there{.labels = {{"host", Op::in, {host}}}, .fields = {}};
    reach.add(Reach::anchors_of(std::optional<std::vector<NodeTerm>>{{there}}), 1, "on-" + host);
  }
  std::vector<std::string> looked_at;
  (void)reach.smallest({{"host", "b"}}, 1, [&](const std::string& name) {
    looked_at.push_back(name);
    return false;
  });
  EXPECT_EQ(looked_at, std::vector<std::string>{"on-b"});
}

}  // namespace
}  // namespace stowage::core
