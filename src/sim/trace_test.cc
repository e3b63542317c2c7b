#include "sim/trace.h"

#include <gtest/gtest.h>

namespace stowage::sim {
namespace {

struct BadFile {
  const char* name;
  const char* text;
  const char* message;
};

TEST(Trace, BadNodeFilesAreRefusedWithFileLineAndValue) {
  const BadFile rows[] = {
      {"an empty file", "", "n.csv: the file is empty"},
      {"a header and nothing else", "sn,cpu_milli,memory_mib,gpu,model\n",
       "n.csv: the file has no nodes"},
      {"an unknown column", "sn,cpu_milli,memory_mib,gpu,model,rack\na,1,1,1,G2,7\n",
       "n.csv:1: unknown column \"rack\": expected some of sn, cpu_milli, memory_mib, gpu, model, "
       "gpu_memory_mib"},
      {"a missing column", "sn,cpu_milli,memory_mib,model\na,1,1,G2\n",
       "n.csv:1: column \"gpu\" is missing"},
      {"a column given twice", "sn,cpu_milli,memory_mib,gpu,gpu,model\na,1,1,1,1,G2\n",
       "n.csv:1: column \"gpu\" appears twice"},
      {"too few fields", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,G2\nb,1,1,1\n",
       "n.csv:3: \"b,1,1,1\" has 4 fields: expected 5, as in the header"},
      {"too many fields", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,G2,\n",
       "n.csv:2: \"a,1,1,1,G2,\" has 6 fields: expected 5, as in the header"},
      {"an empty line", "sn,cpu_milli,memory_mib,gpu,model\n\n",
       "n.csv:2: \"\" has 1 field: expected 5, as in the header"},
      {"a quoted field", "sn,cpu_milli,memory_mib,gpu,model\n\"a\",1,1,1,G2\n",
       "n.csv:2: \"\\\"a\\\",1,1,1,G2\" has a double quote: quoted fields are not supported"},
      {"no name", "sn,cpu_milli,memory_mib,gpu,model\n,1,1,1,G2\n",
       "n.csv:2: sn is \"\": expected 1 to 253 characters without blanks"},
      {"a name used twice", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,G2\na,1,1,1,G2\n",
       "n.csv:3: sn is \"a\": the name is used already in line 2"},
      {"negative CPU", "sn,cpu_milli,memory_mib,gpu,model\na,-1,1,1,G2\n",
       "n.csv:2: cpu_milli is \"-1\": expected a whole number from 0 to 1000000000"},
      {"more cards than a node can have", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,65,G2\n",
       "n.csv:2: gpu is \"65\": expected a whole number from 0 to 64"},
      {"two models in one node", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,G2|G3\n",
       "n.csv:2: model is \"G2|G3\": expected one GPU model"},
      {"junk for memory", "sn,cpu_milli,memory_mib,gpu,model,gpu_memory_mib\na,1,1,1,G2,lots\n",
       "n.csv:2: gpu_memory_mib is \"lots\": expected a whole number from 0 to 10000000"},
  };
  for (const BadFile& row : rows) {
    SCOPED_TRACE(row.name);
    const auto nodes = parse_nodes("n.csv", row.text);
    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().message, row.message);
  }
}

TEST(Trace, BadPodFilesAreRefusedWithFileLineAndValue) {
  const BadFile rows[] = {
      {"an empty file", "", "p.csv: the file is empty"},
      {"a header and nothing else", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n",
       "p.csv: the file has no pods"},
      {"a negative share", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\nb,1,1,1,-5\n",
       "p.csv:3: gpu_milli is \"-5\": expected a whole number from 0 to 1000000"},
      {"a number that overflows",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,99999999999999999999,1,1,500\n",
       "p.csv:2: cpu_milli is \"99999999999999999999\": expected a whole number from 0 to "
       "1000000000"},
      {"a fraction of a card", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0.5,500\n",
       "p.csv:2: num_gpu is \"0.5\": expected a whole number from 0 to 64"},
      {"a card of which nothing is asked",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,2,0\n",
       "p.csv:2: gpu_milli is \"0\": a pod with num_gpu 2 must ask for a share of each card"},
      {"an empty model in the list",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,500,G2||G3\n",
       "p.csv:2: gpu_spec is \"G2||G3\": expected up to 256 GPU models with | between them"},
      {"a name used twice",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\nb,1,1,1,500\na,1,1,1,500\n",
       "p.csv:4: name is \"a\": the name is used already in line 2"},
  };
  for (const BadFile& row : rows) {
    SCOPED_TRACE(row.name);
    const auto pods = parse_pods("p.csv", row.text);
    ASSERT_FALSE(pods);
    EXPECT_EQ(pods.error().message, row.message);
  }
}

TEST(Trace, AFileThatIsNotThereIsNamed) {
  const auto nodes = read_nodes("no/such/nodes.csv");
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().message, "cannot read no/such/nodes.csv: No such file or directory");
  const auto folder = read_pods("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "cannot read /: Is a directory");
}

TEST(Trace, ColumnsAreFoundByNameInAnyOrderAndWithAnyLineEnd) {
  const auto nodes = parse_nodes("n.csv", "model,gpu,sn,memory_mib,cpu_milli\r\nG2,8,a,10,96000");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ(nodes->front(), (TraceNode{.name = "a",
                                       .cpu_milli = 96000,
                                       .memory_mib = 10,
                                       .gpus = 8,
                                       .model = "G2",
                                       .gpu_memory_mib = 0}));
}

TEST(Trace, SharesCountAsPublished) {
  struct Row {
    const char* name;
    const char* line;
    int milli;
    PodKind kind;
  };
  const Row rows[] = {
      {"a share stays", "a,1,1,1,460", 460, PodKind::share},
      {"above 1000 counts as 1000", "a,1,1,1,4000", 1000, PodKind::whole},
      {"without a card it counts as 0", "a,1,1,0,460", 0, PodKind::cpu},
      {"several cards are several even in shares", "a,1,1,2,500", 500, PodKind::multi},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    const auto pods = parse_pods("p.csv", head + row.line + "\n");
    ASSERT_TRUE(pods);
    EXPECT_EQ(pods->front().gpu_milli, row.milli);
    EXPECT_EQ(kind_of(pods->front()), row.kind);
  }
}

TEST(Trace, ANodeBecomesOneForTheEngine) {
  const core::NodeSpec spec = to_node_spec({.name = "n7",
                                            .cpu_milli = 64000,
                                            .memory_mib = 1024,
                                            .gpus = 2,
                                            .model = "P100",
                                            .gpu_memory_mib = 16000},
                                           5);
  EXPECT_EQ(spec.name, "n7");
  EXPECT_EQ(spec.allocatable.cpu_milli, 64000);
  EXPECT_EQ(spec.allocatable.memory_bytes, 1024LL << 20U);
  EXPECT_EQ(spec.allocatable.pods, 1001);
  EXPECT_EQ(spec.rank, 5U);
  ASSERT_EQ(spec.cards.size(), 2U);
  EXPECT_EQ(spec.cards[1].id, "n7/1");
  EXPECT_EQ(spec.cards[1].index, 1);
  EXPECT_EQ(spec.cards[1].model, "P100");
  EXPECT_EQ(spec.cards[1].memory_mib, 16000);
  EXPECT_TRUE(core::validate(spec));
}

TEST(Trace, APodBecomesOneForTheEngine) {
  TracePod pod{.name = "p",
               .cpu_milli = 4000,
               .memory_mib = 2048,
               .num_gpu = 1,
               .gpu_milli = 460,
               .gpu_spec = "T4|V100|T4",
               .gpu_memory_mib = 8000};
  const core::PodSpec share = to_pod_spec(pod, "u1");
  EXPECT_EQ(share.uid, "u1");
  EXPECT_EQ(share.name, "default/p");
  ASSERT_EQ(share.containers.size(), 1U);
  const core::ContainerSpec& main = share.containers.front();
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.resources.cpu_milli, 4000);
  EXPECT_EQ(main.resources.memory_bytes, 2048LL << 20U);
  EXPECT_EQ(main.gpu.count, 1);
  EXPECT_EQ(main.gpu.milli, 460);
  EXPECT_EQ(main.gpu.memory_mib, 8000);
  EXPECT_EQ(main.gpu.filter.models_any, (std::vector<std::string>{"T4", "V100"}));
  EXPECT_EQ(main.gpu.filter.model_match, core::CardFilter::Match::equal);

  pod.gpu_milli = 0;
  const core::PodSpec memory_only = to_pod_spec(pod, "u2");
  EXPECT_FALSE(memory_only.containers.front().gpu.milli);
  EXPECT_EQ(memory_only.containers.front().gpu.memory_mib, 8000);

  pod.gpu_milli = 1000;
  const core::PodSpec whole = to_pod_spec(pod, "u3");
  EXPECT_EQ(whole.containers.front().gpu.milli, 1000);
  EXPECT_FALSE(whole.containers.front().gpu.memory_mib);

  pod.num_gpu = 0;
  EXPECT_EQ(to_pod_spec(pod, "u4").containers.front().gpu, core::GpuRequest{});
}

}  // namespace
}  // namespace stowage::sim
