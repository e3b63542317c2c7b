#include "local/fleet/fleet.h"

#include <set>

#include <gtest/gtest.h>

#include "codec/kubernetes.h"
#include "dialect/dialect.h"
#include "local/fleet/mix_file.h"

namespace stowage::local {
namespace {

const WallTime kNow{std::chrono::seconds{1'800'000'000}};

TEST(Catalogue, NamesAreFoundInAnyCaseAndOwnModelsCanBeGiven) {
  struct Row {
    const char* text;
    const char* name;
    int memory_mib;
  };
  for (const Row& row : {Row{"A100-80GB", "A100-80GB", 81920}, Row{"a100-40gb", "A100-40GB", 40960},
                         Row{"t4", "T4", 15360}, Row{"mine:1234", "mine", 1234}}) {
    const auto model = find_card_model(row.text);
    ASSERT_TRUE(model.has_value()) << row.text;
    EXPECT_EQ(model->name, row.name);
    EXPECT_EQ(model->memory_mib, row.memory_mib);
  }
}

TEST(Catalogue, WhatIsNotKnownIsAnErrorThatHelps) {
  struct Row {
    const char* text;
    const char* part;
  };
  for (const Row& row :
       {Row{"A100-80G", "did you mean A100-80GB?"}, Row{"banana", "(known: A10, A100-40GB"},
        Row{"", "unknown GPU model"}, Row{"x:", "number of MiB"}, Row{"x:0", "number of MiB"},
        Row{"x:99999999999", "number of MiB"}, Row{":100", "before the colon"},
        Row{"a b:100", "before the colon"}}) {
    const auto model = find_card_model(row.text);
    ASSERT_FALSE(model.has_value()) << row.text;
    EXPECT_NE(model.error().message.find(row.part), std::string::npos) << model.error().message;
  }
}

NodeGroup group(int count, int gpus, const char* model) {
  NodeGroup result;
  result.count = count;
  result.gpus = gpus;
  if (gpus > 0) result.model = *find_card_model(model);
  return result;
}

TEST(Fleet, NodesAreNumberedThroughWithEqualDigits) {
  NodeGroup other = group(1, 0, "");
  other.name = "cpu";
  const auto nodes = make_nodes({group(9, 8, "A100-80GB"), other, group(1, 1, "T4")}, kNow);
  ASSERT_EQ(nodes.size(), 11U);
  EXPECT_EQ(text_at(nodes[0], "metadata.name"), "node-01");
  EXPECT_EQ(text_at(nodes[9], "metadata.name"), "cpu-1");
  EXPECT_EQ(text_at(nodes[10], "metadata.name"), "node-10");
}

TEST(Fleet, TooManyOrNoNodesAreRefused) {
  EXPECT_TRUE(count_nodes({group(kNodesMax, 0, "")}).has_value());
  EXPECT_FALSE(count_nodes({group(kNodesMax, 0, ""), group(1, 0, "")}).has_value());
  EXPECT_EQ(count_nodes({}).value(), 0) << "nodes may be created later";
}

// All dialects describe the same cards of a node, without disagreement.
TEST(Fleet, EveryModelIsReadBackByTheDialectsWithoutANote) {
  for (const CardModel& model : card_models()) {
    NodeGroup one;
    one.gpus = 4;
    one.model = model;
    std::string text;
    append_json(text, make_nodes({one}, kNow).front());
    codec::Decoder decoder;
    const auto object = decoder.node(text);
    ASSERT_TRUE(object.has_value()) << object.error().message;
    const auto reading = dialect::to_spec(*object);
    ASSERT_TRUE(reading.has_value()) << reading.error().message;
    EXPECT_TRUE(reading->notes.empty()) << model.name << ": " << reading->notes.front();
    ASSERT_EQ(reading->node.cards.size(), 4U);
    std::set<std::string> ids;
    for (const core::Card& card : reading->node.cards) {
      ids.insert(card.id);
      EXPECT_EQ(card.memory_mib, model.memory_mib);
      EXPECT_EQ(card.model, model.product);
    }
    EXPECT_EQ(ids.size(), 4U);
  }
}

TEST(Fleet, EqualGroupsGiveEqualNodesAndCardsOfTwoNodesDiffer) {
  const auto nodes = make_nodes({group(2, 2, "L4")}, kNow);
  EXPECT_EQ(nodes, make_nodes({group(2, 2, "L4")}, kNow));
  EXPECT_NE(text_at(nodes[0], "metadata.annotations"), text_at(nodes[1], "metadata.name"));
  const json::object* a = object_at(nodes[0], "metadata.annotations");
  const json::object* b = object_at(nodes[1], "metadata.annotations");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a->at("stowage.dev/gpu-inventory"), b->at("stowage.dev/gpu-inventory"));
}

TEST(MixFile, GroupsAreReadWithEverythingTheySay) {
  const auto groups = parse_mix("mix.yaml", R"(
nodes:
  - count: 2
    name: big
    gpus: 8
    model: H100-80GB
    cpu: 192
    memory: 2Ti
    labels: {pool: training, "example.com/rack": r1}
    taints:
      - {key: dedicated, value: training, effect: NoSchedule}
  - {gpus: 0}
)");
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  ASSERT_EQ(groups->size(), 2U);
  const NodeGroup& big = groups->front();
  EXPECT_EQ(big.count, 2);
  EXPECT_EQ(big.name, "big");
  EXPECT_EQ(big.gpus, 8);
  EXPECT_EQ(big.model.name, "H100-80GB");
  EXPECT_EQ(big.cpu, 192);
  EXPECT_EQ(big.memory_mib, 2LL << 20U);
  EXPECT_EQ(big.labels.size(), 2U);
  ASSERT_EQ(big.taints.size(), 1U);
  EXPECT_EQ(big.taints[0], (NodeTaint{"dedicated", "training", "NoSchedule"}));
  EXPECT_EQ(groups->back().count, 1);
  EXPECT_EQ(groups->back().gpus, 0);
}

TEST(MixFile, WhatIsWrongIsNamedWithFileLineAndKey) {
  struct Row {
    const char* text;
    const char* part;
  };
  const Row rows[] = {
      {"", "mix.yaml: it is empty"},
      {"nodes: []", "the list \"nodes\" is missing"},
      {"- {gpus: 1}", "mix.yaml:1: the file must be a mapping"},
      {"node: []", "mix.yaml:1: node is unknown; did you mean nodes?"},
      {"nodes:\n  - gpu: 1", "mix.yaml:2: nodes[0].gpu is unknown; did you mean gpus?"},
      {"nodes:\n  - gpus: 1\n    gpus: 2", "nodes[0].gpus is given twice"},
      {"nodes:\n  - gpus: eight", "mix.yaml:2: nodes[0].gpus is \"eight\""},
      {"nodes:\n  - gpus: 65\n    model: T4", "from 0 to 64"},
      {"nodes:\n  - count: 10001", "from 1 to 10000"},
      {"nodes:\n  - count: 10000\n  - count: 1", "10001 nodes are too many"},
      {"nodes:\n  - gpus: 8", "add model"},
      {"nodes:\n  - model: T4", "add gpus"},
      {"nodes:\n  - gpus: 1\n    model: T5", "did you mean T4?"},
      {"nodes:\n  - memory: lots", "nodes[0].memory is \"lots\""},
      {"nodes:\n  - cpu: -1", "nodes[0].cpu"},
      {"nodes:\n  - name: Big", "nodes[0].name is \"Big\""},
      {"nodes:\n  - labels: {\"a b\": c}", "bad key \"a b\""},
      {"nodes:\n  - taints: [{key: a, effect: Never}]", "effect is \"Never\""},
      {"nodes: {a: b}", "nodes must be a list"},
      {"nodes:\n  - [1]", "nodes[0] must be a mapping"},
      {"nodes: [", "not YAML"},
      {"nodes:\n---\nnodes:", "several documents"},
  };
  for (const Row& row : rows) {
    const auto groups = parse_mix("mix.yaml", row.text);
    ASSERT_FALSE(groups.has_value()) << row.text;
    EXPECT_NE(groups.error().message.find(row.part), std::string::npos) << row.text << "\n"
                                                                        << groups.error().message;
  }
}

}  // namespace
}  // namespace stowage::local
