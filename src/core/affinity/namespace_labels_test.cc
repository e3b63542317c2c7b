#include "core/affinity/namespace_labels.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(NamespaceLabels, ATermNamesNamespacesOrSelectsThemByLabel) {
  NamespaceLabels namespaces;
  const PodTerm term{
      .namespaces = {"listed"},
      .namespace_selector = LabelSelector{.all = {{.key = "team", .values = {"a"}}}}};
  EXPECT_TRUE(namespaces.selects(term, "listed", {}));
  EXPECT_FALSE(namespaces.selects(term, "other", {})) << "an unknown namespace has no labels";
  namespaces.set({.name = "other", .labels = {{"team", "a"}}});
  EXPECT_TRUE(namespaces.selects(term, "other", {}));
  namespaces.set({.name = "other", .labels = {{"team", "b"}}});
  EXPECT_FALSE(namespaces.selects(term, "other", {}));
  namespaces.set({.name = "other", .labels = {{"team", "a"}}});
  namespaces.remove("other");
  EXPECT_FALSE(namespaces.selects(term, "other", {}));
}

TEST(NamespaceLabels, ThePodsLabelsMustMatchToo) {
  const NamespaceLabels namespaces;
  const PodTerm term{.selector = {.all = {{.key = "app", .values = {"web"}}}},
                     .namespaces = {"ns"}};
  EXPECT_TRUE(namespaces.selects(term, "ns", {{"app", "web"}}));
  EXPECT_FALSE(namespaces.selects(term, "ns", {{"app", "db"}}));
}

TEST(NamespaceLabels, TheVersionGrowsOnlyWithAChange) {
  NamespaceLabels namespaces;
  const std::uint64_t before = namespaces.version();
  namespaces.set({.name = "ns", .labels = {{"team", "a"}}});
  const std::uint64_t after = namespaces.version();
  EXPECT_GT(after, before);
  namespaces.set({.name = "ns", .labels = {{"team", "a"}}});
  namespaces.remove("unknown");
  EXPECT_EQ(namespaces.version(), after);
  namespaces.remove("ns");
  EXPECT_GT(namespaces.version(), after);
}

}  // namespace
}  // namespace stowage::core
