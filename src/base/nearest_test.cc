#include "base/nearest.h"

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

TEST(NearestTest, ASlipOfTheHandIsFound) {
  const std::vector<std::string> words{
      "local",      "sim", "what-if", "stowage.dev/gpu-core", "stowage.dev/gpu-memory",
      "dual-price", "fgd"};
  EXPECT_EQ(nearest("lcoal", words), "local");
  EXPECT_EQ(nearest("fdg", words), "fgd") << "neighbours that changed places are one edit";
  EXPECT_EQ(nearest("stowage.dev/gpu-cores", words), "stowage.dev/gpu-core");
  EXPECT_EQ(nearest("stowage.dev/gpu_memory", words), "stowage.dev/gpu-memory");
  EXPECT_EQ(nearest("dualprice", words), "dual-price");
  EXPECT_EQ(nearest("what-iff", words), "what-if");
}

TEST(NearestTest, WhatIsFarIsNoHint) {
  const std::vector<std::string> words{"local", "sim", "what-if", "controller",
                                       "stowage.dev/gpu-model"};
  EXPECT_EQ(nearest("scheduler", words), "");
  EXPECT_EQ(nearest("run", words), "") << "two letters of three";
  EXPECT_EQ(nearest("stowage.dev/gpu_modal", words), "stowage.dev/gpu-model");
  EXPECT_EQ(nearest("stowage.dev/gpu-color", words), "") << "four edits";
  EXPECT_EQ(nearest("stowage.dev/exclusive", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), {std::string(100'000, 'x') + "y"}), "")
      << "such a word is not worth the time";
}

}  // namespace
}  // namespace stowage::base
