#include "dialect/own_annotations.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace stowage::dialect {
namespace {

TEST(OwnAnnotations, OfAPodOnlyThoseOfTheSchedulerAreFound) {
  PodObject pod;
  EXPECT_EQ(scheduler_annotations(pod), std::vector<std::string>());
  for (const auto& row : own_annotations()) pod.annotations[std::string(row.key)] = "x";
  pod.annotations["other.dev/gpus"] = "x";
  EXPECT_EQ(
      scheduler_annotations(pod),
      (std::vector<std::string>{"stowage.dev/gpus", "stowage.dev/signature",
                                "stowage.dev/pre-allocated-node", "stowage.dev/retry-since"}));
}

TEST(OwnAnnotations, UnknownOnesAreReported) {
  PodObject pod;
  for (const auto& row : own_annotations()) pod.annotations[std::string(row.key)] = "x";
  pod.annotations["other.dev/gpu-modle"] = "x";
  EXPECT_EQ(unknown_keys(pod), "");
  pod.annotations["stowage.dev/gpu-modle"] = "a100";
  pod.annotations["stowage.dev/zone"] = "x";
  EXPECT_EQ(unknown_keys(pod),
            "Stowage does not know the annotation stowage.dev/gpu-modle; did you mean "
            "stowage.dev/gpu-model?; Stowage does not know the annotation stowage.dev/zone");
  for (int i = 0; i < 1000; ++i) pod.annotations["stowage.dev/" + std::to_string(i)] = "x";
  EXPECT_LT(unknown_keys(pod).size(), 500U) << "an author may write thousands";
}

// Runs in the root of the repository. The shipped policy forbids what the table forbids, and
// nothing that authors may write.
TEST(OwnAnnotations, TheAdmissionPolicyNamesTheSameOnes) {
  std::ifstream file("deploy/admission.yaml");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_FALSE(text.str().empty());
  for (const auto& row : own_annotations()) {
    const bool named = text.str().find("'" + std::string(row.key) + "'") != std::string::npos;
    EXPECT_EQ(named, row.writer != Writer::author && row.writer != Writer::admin) << row.key;
  }
}

}  // namespace
}  // namespace stowage::dialect
