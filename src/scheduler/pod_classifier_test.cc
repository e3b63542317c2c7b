#include "scheduler/pod_classifier.h"

#include <functional>

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

TEST(PodClassifier, Table) {
  struct Row {
    const char* what;
    std::function<void(dialect::PodObject&)> edit;
    PodState state;
    int profile;  // -1: another scheduler's
  };
  const Row rows[] = {
      {"ours", [](auto&) {}, PodState::pending, 0},
      {"of our second profile", [](auto& pod) { pod.scheduler = "second"; }, PodState::pending, 1},
      {"gated", [](auto& pod) { pod.gates = {"wait"}; }, PodState::gated, 0},
      {"theirs", [](auto& pod) { pod.scheduler = "other"; }, PodState::external, -1},
      {"theirs and gated",
       [](auto& pod) {
         pod.scheduler = "other";
         pod.gates = {"wait"};
       },
       PodState::external, -1},
      {"deleted before it was placed",
       [](auto& pod) {
         pod.deleting = true;
         pod.gates = {"wait"};
       },
       PodState::deleting, 0},
      {"bound", [](auto& pod) { pod.node = "n"; }, PodState::bound, 0},
      {"theirs, bound and ending",
       [](auto& pod) {
         pod.scheduler = "other";
         pod.node = "n";
         pod.deleting = true;
       },
       PodState::bound, -1},
      {"ended on its node",
       [](auto& pod) {
         pod.node = "n";
         pod.phase = "Succeeded";
       },
       PodState::ended, 0},
      {"ended without one", [](auto& pod) { pod.phase = "Failed"; }, PodState::ended, 0},
  };
  const PodClassifier classifier({{.name = "first"}, {.name = "second"}});
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    dialect::PodObject pod;
    pod.scheduler = "first";
    pod.phase = "Pending";
    row.edit(pod);
    const PodClassifier::Class is = classifier.classify(pod);
    EXPECT_EQ(is.state, row.state);
    EXPECT_EQ(is.profile != nullptr, row.profile >= 0);
    EXPECT_EQ(classifier.is_ours(pod), row.profile >= 0);
    EXPECT_EQ(is.number, static_cast<std::uint32_t>(std::max(row.profile, 0)));
  }
  EXPECT_EQ(classifier.profile_names(), (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace stowage::scheduler
