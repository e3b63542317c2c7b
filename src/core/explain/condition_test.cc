#include "core/explain/condition.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream rest(line);
  std::string cell;
  while (std::getline(rest, cell, '|')) {
    std::string kept;
    for (const char c : cell) {
      if (c != '`') kept += c;
    }
    const auto first = kept.find_first_not_of(' ');
    const auto last = kept.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : kept.substr(first, last - first + 1));
  }
  return cells;
}

// Run in the root of the repository.
std::map<std::string, std::vector<std::string>> rows_of_the_contract() {
  std::ifstream file("docs/contract.md");
  std::map<std::string, std::vector<std::string>> rows;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) inside = line == "## Conditions";
    if (!inside || !line.starts_with("| `")) continue;
    auto cells = cells_of(line);
    cells.erase(cells.begin());  // before the first bar
    if (cells.size() >= 3) rows.emplace(cells.front(), cells);
  }
  return rows;
}

TEST(ConditionTest, EveryReasonHasItsRowInTheContract) {
  const auto rows = rows_of_the_contract();
  ASSERT_FALSE(rows.empty()) << "docs/contract.md has no table under \"## Conditions\"";
  for (std::size_t i = 1; i < kReasonCodes; ++i) {
    const auto code = static_cast<ReasonCode>(i);
    SCOPED_TRACE(to_string(code));
    const auto row = rows.find(to_string(code));
    ASSERT_NE(row, rows.end());
    EXPECT_EQ(row->second[1], to_string(condition_reason(code)));
    EXPECT_EQ(row->second[2], to_string(remedy(code)));
  }
}

TEST(ConditionTest, EveryConditionIsInTheContract) {
  std::ifstream file("docs/contract.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ConditionReason entry : kConditionReasons) {
    EXPECT_NE(text.str().find("`" + std::string(to_string(entry)) + "`"), std::string::npos)
        << to_string(entry);
  }
}

Refusal refusal_for(const std::vector<ReasonCode>& codes) {
  Refusal refusal;
  for (const ReasonCode code : codes) {
    refusal.counts.push_back({.code = code, .nodes = 1});
    ++refusal.nodes;
  }
  return refusal;
}

TEST(ConditionTest, OfSeveralReasonsTheOneThatANodeLikeThoseThereWouldMend) {
  using C = ReasonCode;
  struct Row {
    std::vector<ReasonCode> codes;
    const char* condition;
    const char* why;
  };
  const Row rows[] = {
      {{}, "Unschedulable", "there is no node at all"},
      {{C::no_cards}, "Unschedulable", "a pool of GPU nodes may have been scaled to nothing"},
      {{C::quota}, "QuotaExceeded", "one more such node is refused as well"},
      {{C::quota, C::no_cards, C::taint}, "QuotaExceeded", "nodes of other kinds change nothing"},
      {{C::quota, C::cards}, "Unschedulable", "one more like the second helps"},
      {{C::quota, C::model_mismatch}, "QuotaExceeded", "the quota refuses the model asked for"},
      {{C::claim}, "VolumeClaimUnusable", "wherever the pod goes"},
      {{C::id_mismatch}, "Unschedulable", "cards were excluded by id: new ones have others"},
  };
  for (const Row& row : rows) {
    EXPECT_STREQ(to_string(condition_reason(refusal_for(row.codes))), row.condition) << row.why;
  }
  Refusal refusal = refusal_for({C::cards, C::taint});
  refusal.on_any_node = C::quota;
  EXPECT_STREQ(to_string(condition_reason(refusal)), "QuotaExceeded") << "whatever the nodes said";
}

// ---- from the engine ----------------------------------------------------------------------------

class ConditionFromEngine : public ::testing::Test {
 protected:
  void limit(std::vector<ModelLimit> limits) {
    Quotas quotas;
    quotas.namespaces["team"].limits = std::move(limits);
    last_ = engine_.handle(QuotaChanged{quotas}, {});
  }
  static PodSpec of_team(PodSpec spec) {
    spec.name = "team/" + spec.uid;
    return spec;
  }
  std::string told(const PodSpec& spec) {
    last_ = engine_.handle(PodPending{spec}, {});
    std::string text;
    for (const auto& command : last_) {
      if (const auto* refuse = std::get_if<Refuse>(&command)) {
        text += refuse->uid + " " + to_string(condition_reason(refuse->refusal)) + ";";
      }
    }
    return text;
  }
  // The refusals of the last event.
  [[nodiscard]] std::string told() const {
    std::string text;
    for (const auto& command : last_) {
      if (const auto* refuse = std::get_if<Refuse>(&command)) {
        text += refuse->uid + " " + to_string(condition_reason(refuse->refusal)) + ";";
      }
    }
    return text;
  }

  Engine engine_ = engine_with(
      "binpack", {node("a").cards(2).model("A100"), node("t").cards(2).model("T4"), node("cpu")});
  Commands last_;
};

TEST_F(ConditionFromEngine, QuotaOfAllModels) {
  limit({{.model = "*", .cards = 0}});
  EXPECT_EQ(told(of_team(pod("p").gpus(1))), "p QuotaExceeded;");
}

TEST_F(ConditionFromEngine, AQuotaThatIsUsedUpCountsWhateverElseNodesSay) {
  // No node has an A100 any more: every node reports "model mismatch".
  (void)engine_.handle(NodeGone{"a"}, {});
  limit({{.model = "A100", .cards = 0}});
  EXPECT_EQ(told(of_team(pod("p").gpus(1).model("A100"))), "p QuotaExceeded;");
  EXPECT_EQ(told(of_team(pod("q").gpus(1).model("H100"))), "q Unschedulable;");
}

TEST_F(ConditionFromEngine, AQuotaOfOneModelLeavesTheOthers) {
  limit({{.model = "A100", .cards = 0}});
  EXPECT_EQ(told(of_team(pod("p").gpus(3))), "p Unschedulable;")
      << "a node with more cards of T4 would do";
  for (const std::uint32_t card : {0U, 1U}) testing::occupy(engine_, "t", card, {.milli = 500});
  EXPECT_EQ(told(of_team(pod("q").gpus(1))), "q Unschedulable;") << "one more node with T4 helps";
}

TEST_F(ConditionFromEngine, CardsThatThePodNamesAreOnNoNewNode) {
  EXPECT_EQ(told(pod("p").gpus(1).card_id("GPU-9")), "p NamedCardUnavailable;");
  testing::occupy(engine_, "a", 0, {.milli = 500});
  EXPECT_EQ(told(pod("q").gpus(1).card_id("a/0")), "q NamedCardUnavailable;") << "it is in use";
}

// The condition must change when quota is released or used up while pods wait.
TEST_F(ConditionFromEngine, AChangedConditionIsReportedForAllTwins) {
  for (const char* name : {"a", "t"}) {
    for (const std::uint32_t card : {0U, 1U}) testing::occupy(engine_, name, card, {.milli = 500});
  }
  limit({{.model = "*", .cards = 0}});
  EXPECT_EQ(told(of_team(pod("p").gpus(1))), "p QuotaExceeded;");
  EXPECT_EQ(told(of_team(pod("q").gpus(1))), "q QuotaExceeded;");
  limit({{.model = "*", .cards = 5}});
  EXPECT_EQ(told(), "p Unschedulable;q Unschedulable;");
  limit({{.model = "*", .cards = 5}});
  EXPECT_EQ(told(), "") << "nothing is new";
  limit({{.model = "*", .cards = 0}});
  EXPECT_EQ(told(), "p QuotaExceeded;q QuotaExceeded;");
}

}  // namespace
}  // namespace stowage::core
