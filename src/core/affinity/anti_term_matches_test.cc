#include "core/affinity/anti_term_matches.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

class AntiTermMatchesTest : public ::testing::Test {
 protected:
  AntiTermIndex add(const PodTerm& term) {
    const AntiTermIndex index = terms_.intern(term);
    terms_.add_pods(index, NodeIndex(0U), 1);
    return index;
  }
  Ledger ledger_;
  TopologyDomains domains_{ledger_.nodes()};
  NamespaceLabels namespaces_;
  LabelSets sets_;
  AntiAffinityTerms terms_{domains_};
  AntiTermMatches matches_{sets_, namespaces_, terms_};
  const PodSpec web_ = labelled_pod("p", {{"app", "web"}});
};

TEST_F(AntiTermMatchesTest, FindsTermsThatSelectThePodAndHavePods) {
  EXPECT_TRUE(matches_.find(web_).empty());
  const AntiTermIndex zone = add(app_term("web", "zone"));
  (void)add(app_term("db", "zone"));
  EXPECT_EQ(matches_.find(web_), (std::vector<AntiTermIndex>{zone}));
  const AntiTermIndex host = add(app_term("web", "host"));
  EXPECT_EQ(matches_.find(web_), (std::vector<AntiTermIndex>{zone, host}));
  terms_.add_pods(zone, NodeIndex(0U), -1);
  EXPECT_EQ(matches_.find(web_), (std::vector<AntiTermIndex>{host}));
}

TEST_F(AntiTermMatchesTest, ChangedNamespacesAreMatchedAgain) {
  PodTerm term = app_term("web", "zone");
  term.namespaces.clear();
  term.namespace_selector = LabelSelector{.all = {{.key = "team", .values = {"a"}}}};
  const AntiTermIndex index = add(term);
  EXPECT_TRUE(matches_.find(web_).empty());
  namespaces_.set({.name = "ns", .labels = {{"team", "a"}}});
  EXPECT_EQ(matches_.find(web_), (std::vector<AntiTermIndex>{index}));
}

TEST_F(AntiTermMatchesTest, AFreedSetIsForgotten) {
  const AntiTermIndex term = add(app_term("web", "zone"));
  EXPECT_EQ(matches_.find(web_).size(), 1U);
  matches_.forget(sets_.free_empty());
  EXPECT_TRUE(matches_.find(labelled_pod("q", {{"app", "db"}})).empty()) << "it has that index now";
  EXPECT_EQ(matches_.find(web_), (std::vector<AntiTermIndex>{term}));
}

TEST_F(AntiTermMatchesTest, PodsWithoutASetAreMatchedToo) {
  const AntiTermIndex term = add(app_term("web", "zone"));
  PodSpec large = web_;
  large.constraints.labels["large"] = std::string(LabelSets::kMaxEmptyBytes, 'x');
  EXPECT_EQ(matches_.find(large), (std::vector<AntiTermIndex>{term}));
  EXPECT_EQ(sets_.size(), 0U);
}

}  // namespace
}  // namespace stowage::core
