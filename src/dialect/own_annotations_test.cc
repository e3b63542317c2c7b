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
  EXPECT_EQ(scheduler_annotations(pod),
            (std::vector<std::string>{"stowage.dev/gpus", "stowage.dev/retry-since"}));
}

// Run in the root of the repository. The policy that ships forbids what the table forbids, and
// nothing that authors write.
TEST(OwnAnnotations, TheAdmissionPolicyNamesTheSameOnes) {
  std::ifstream file("deploy/admission.yaml");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_FALSE(text.str().empty());
  for (const auto& row : own_annotations()) {
    const bool named = text.str().find("'" + std::string(row.key) + "'") != std::string::npos;
    EXPECT_EQ(named, row.writer != Writer::author) << row.key;
  }
}

}  // namespace
}  // namespace stowage::dialect
