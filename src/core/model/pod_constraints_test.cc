#include "core/model/pod_constraints.h"

#include <functional>

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

using Op = Requirement::Op;

TEST(PodConstraints, SelectorsAgainstLabels) {
  const Labels labels{{"app", "web"}, {"tier", "front"}, {"number", "5"}};
  struct Row {
    const char* name;
    LabelSelector selector;
    bool matches;
  };
  const Row rows[] = {
      {"an empty selector matches everything", {}, true},
      {"an absent selector matches nothing", {.all = {}, .nothing = true}, false},
      {"absent, whatever else it says", {.all = {{"app", Op::exists, {}}}, .nothing = true}, false},
      {"in", {.all = {{"app", Op::in, {"db", "web"}}}}, true},
      {"not one of the values", {.all = {{"app", Op::in, {"db"}}}}, false},
      {"in needs the label", {.all = {{"nope", Op::in, {"db"}}}}, false},
      {"in without values matches nothing", {.all = {{"app", Op::in, {}}}}, false},
      {"not in", {.all = {{"app", Op::not_in, {"db"}}}}, true},
      {"not in, with the value", {.all = {{"app", Op::not_in, {"db", "web"}}}}, false},
      {"not in holds without the label", {.all = {{"nope", Op::not_in, {"web"}}}}, true},
      {"exists", {.all = {{"app", Op::exists, {}}}}, true},
      {"exists needs the label", {.all = {{"nope", Op::exists, {}}}}, false},
      {"does not exist", {.all = {{"app", Op::does_not_exist, {}}}}, false},
      {"does not exist, and is not there", {.all = {{"nope", Op::does_not_exist, {}}}}, true},
      {"numbers are not compared", {.all = {{"number", Op::gt, {"4"}}}}, false},
      {"nor from above", {.all = {{"number", Op::lt, {"6"}}}}, false},
      {"all of them hold", {.all = {{"app", Op::in, {"web"}}, {"tier", Op::in, {"front"}}}}, true},
      {"one of them does not",
       {.all = {{"app", Op::in, {"web"}}, {"tier", Op::in, {"back"}}}},
       false},
  };
  for (const auto& row : rows) EXPECT_EQ(matches(row.selector, labels), row.matches) << row.name;
  EXPECT_TRUE(matches(LabelSelector{}, Labels{})) << "everything, even without labels";
}

PodConstraints full() {
  const PodTerm term{.selector = {.all = {{"app", Op::in, {"web"}}}},
                     .namespaces = {"ns"},
                     .namespace_selector = LabelSelector{},
                     .topology_key = "zone",
                     .weight = 7};
  return {.labels = {{"app", "web"}},
          .affinity = {term},
          .anti_affinity = {term},
          .preferred = {term},
          .preferred_anti = {term},
          .spread = {{.topology_key = "zone"}},
          .ports = {{.ip = "", .protocol = "TCP", .port = 80}},
          .claims = {{.name = "data"}},
          .disks = {{.kind = Disk::Kind::rbd, .id = "d", .monitors = {"m"}}}};
}

std::string key_of(const PodConstraints& constraints) {
  std::string key;
  append_key(constraints, key);
  return key;
}

TEST(PodConstraints, AKeyTellsApartWhatDiffers) {
  const struct {
    const char* name;
    std::function<void(PodConstraints&)> change;
  } rows[] = {
      {"a label", [](PodConstraints& a) { a.labels["app"] = "db"; }},
      {"one label more", [](PodConstraints& a) { a.labels["b"] = ""; }},
      {"no affinity", [](PodConstraints& a) { a.affinity.clear(); }},
      {"affinity on the other side",
       [](PodConstraints& a) {
         a.affinity.push_back(a.anti_affinity.front());
         a.anti_affinity.clear();
       }},
      {"the operator", [](PodConstraints& a) { a.affinity[0].selector.all[0].op = Op::not_in; }},
      {"a value",
       [](PodConstraints& a) {
         a.affinity[0].selector.all[0].values = {"web", ""};
       }},
      {"no selector", [](PodConstraints& a) { a.affinity[0].selector.nothing = true; }},
      {"a namespace",
       [](PodConstraints& a) {
         a.affinity[0].namespaces = {"n", "s"};
       }},
      {"no selector of namespaces",
       [](PodConstraints& a) { a.affinity[0].namespace_selector.reset(); }},
      {"one that matches none",
       [](PodConstraints& a) { a.affinity[0].namespace_selector->nothing = true; }},
      {"the topology key", [](PodConstraints& a) { a.anti_affinity[0].topology_key = "host"; }},
      {"the weight of a wish", [](PodConstraints& a) { a.preferred[0].weight = 8; }},
      {"the weight of an aversion", [](PodConstraints& a) { a.preferred_anti[0].weight = 8; }},
      {"the key of spreading", [](PodConstraints& a) { a.spread[0].topology_key = "host"; }},
      {"the skew", [](PodConstraints& a) { a.spread[0].max_skew = 2; }},
      {"the domains", [](PodConstraints& a) { a.spread[0].min_domains = 2; }},
      {"soft spreading", [](PodConstraints& a) { a.spread[0].hard = false; }},
      {"affinity ignored", [](PodConstraints& a) { a.spread[0].honour_affinity = false; }},
      {"taints honoured", [](PodConstraints& a) { a.spread[0].honour_taints = true; }},
      {"what is spread", [](PodConstraints& a) { a.spread[0].selector.nothing = true; }},
      {"a port", [](PodConstraints& a) { a.ports[0].port = 81; }},
      {"its address", [](PodConstraints& a) { a.ports[0].ip = "127.0.0.1"; }},
      {"its protocol", [](PodConstraints& a) { a.ports[0].protocol = "UDP"; }},
      {"a claim", [](PodConstraints& a) { a.claims[0].name = "date"; }},
      {"an ephemeral claim", [](PodConstraints& a) { a.claims[0].ephemeral = true; }},
      {"the kind of disk", [](PodConstraints& a) { a.disks[0].kind = Disk::Kind::gce; }},
      {"a disk", [](PodConstraints& a) { a.disks[0].id = "dm"; }},
      {"its monitors", [](PodConstraints& a) { a.disks[0].monitors.clear(); }},
      {"a disk for reading", [](PodConstraints& a) { a.disks[0].read_only = true; }},
  };
  const std::string key = key_of(full());
  EXPECT_EQ(key_of(full()), key);
  for (const auto& row : rows) {
    PodConstraints other = full();
    row.change(other);
    EXPECT_NE(key_of(other), key) << row.name;
  }
}

TEST(PodConstraints, AKeyOfATermLeavesItsWeightOut) {
  PodTerm heavy = full().affinity[0];
  heavy.weight = 100;
  std::string one;
  std::string other;
  append_key(full().affinity[0], one);
  append_key(heavy, other);
  EXPECT_EQ(one, other);
}

TEST(PodConstraints, AKeyIsAppended) {
  std::string out = "before";
  append_key(LabelSelector{}, out);
  std::string alone;
  append_key(LabelSelector{}, alone);
  EXPECT_EQ(out, "before" + alone);
}

}  // namespace
}  // namespace stowage::core
