#include "core/explain/model_note.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

std::string note(const std::vector<std::string>& asked, const std::string& model,
                 CardFilter::Match match = CardFilter::Match::contains) {
  PodSpec spec = testing::pod("p").gpus(1);
  spec.containers[0].gpu.filter = {.model_match = match, .models_any = asked};
  const NodeSpec on = testing::node("n").cards(1).model(model);
  return model_note(spec, on, {.containers = {{{.card = 0, .milli = 1000}}}});
}

TEST(ModelNoteTest, APartOfAWordIsNotedAWholeWordIsNot) {
  EXPECT_EQ(note({"a10"}, "NVIDIA A100-SXM4-80GB"),
            "the pod asked for a GPU of type \"a10\" and got \"NVIDIA A100-SXM4-80GB\", whose name "
            "contains it; write more of the name, or exclude that type");
  EXPECT_EQ(note({"a10"}, "NVIDIA A10"), "");
  EXPECT_EQ(note({"A100"}, "NVIDIA A100-SXM4-80GB"), "");
  EXPECT_EQ(note({"T4"}, "Tesla T40 T4"), "") << "once as a word of its own";
  EXPECT_NE(note({"4"}, "Tesla T40"), "");
  EXPECT_EQ(note({"a10", "a100"}, "NVIDIA A100"), "") << "one of them names it";
  EXPECT_EQ(note({"T4"}, "T4", CardFilter::Match::equal), "");
  EXPECT_EQ(note({}, "T4"), "");
}

}  // namespace
}  // namespace stowage::core
