#include "sim/sequence.h"

#include <gtest/gtest.h>

namespace stowage::sim {
namespace {

Trace two_nodes_three_pods() {
  Trace trace;
  for (const char* name : {"a", "b"}) trace.nodes.emplace_back().name = name;
  for (const char* name : {"p", "q", "r"}) trace.pods.emplace_back().name = name;
  return trace;
}

TEST(Sequence, TellsRanksByNodeAndRowsInOrder) {
  const auto sequence =
      parse_sequence("s.txt", "2\nb 0\na 1\n4\n2\n0\n2\n1\n", two_nodes_three_pods());
  ASSERT_TRUE(sequence);
  EXPECT_EQ(sequence->ranks, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(sequence->arrivals, (std::vector<std::uint32_t>{2, 0, 2, 1}));
}

TEST(Sequence, BadFilesAreRefusedWithFileLineAndValue) {
  struct Row {
    const char* name;
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"an empty file", "", "s.txt: the file ends after line 0: expected the number of nodes"},
      {"a number of nodes that is none", "two\n",
       "s.txt:1: the number of nodes is \"two\": expected a whole number from 0 to 4294967295"},
      {"another number of nodes", "3\n",
       "s.txt:1: the number of nodes is \"3\": the node file has 2"},
      {"a node without rank", "2\na 0\nb\n",
       "s.txt:3: the line is \"b\": expected a node's name, a blank and its rank"},
      {"an unknown node", "2\na 0\nc 1\n",
       "s.txt:3: the node is \"c\": the node file does not have it"},
      {"a node named twice", "2\na 0\na 1\n", "s.txt:3: the node is \"a\": it has a rank already"},
      {"a rank out of range", "2\na 0\nb 2\n",
       "s.txt:3: the rank is \"2\": expected a whole number from 0 to 1"},
      {"a rank given twice", "2\na 1\nb 1\n",
       "s.txt:3: the rank is \"1\": another node has it already"},
      {"no pods", "2\na 1\nb 0\n0\n",
       "s.txt:4: the number of pods is \"0\": expected a whole number from 1 to 100000000"},
      {"a row that the pod file does not have", "2\na 1\nb 0\n1\n3\n",
       "s.txt:5: the row of a pod is \"3\": expected a whole number from 0 to 2"},
      {"fewer pods than announced", "2\na 1\nb 0\n2\n1\n",
       "s.txt: the file ends after line 5: expected the row of a pod"},
      {"more pods than announced", "2\na 1\nb 0\n1\n1\n2\n",
       "s.txt:6: \"2\" comes after the last pod: expected the end of the file"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto sequence = parse_sequence("s.txt", row.text, two_nodes_three_pods());
    ASSERT_FALSE(sequence);
    EXPECT_EQ(sequence.error().message, row.message);
  }
}

TEST(Sequence, TheSeedIsInTheName) {
  EXPECT_EQ(seed_in_name("a/default_42.txt"), 42U);
  EXPECT_EQ(seed_in_name("my_own_7"), 7U);
  EXPECT_EQ(seed_in_name("default.txt"), std::nullopt);
  EXPECT_EQ(seed_in_name("default_x1.txt"), std::nullopt);
  EXPECT_EQ(seed_in_name("default_.txt"), std::nullopt);
}

}  // namespace
}  // namespace stowage::sim
