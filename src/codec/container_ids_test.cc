#include "codec/container_ids.h"

#include <gtest/gtest.h>

namespace stowage::codec {
namespace {

TEST(ContainerIds, OfAllKindsOfContainersThatHaveRun) {
  const auto ids = read_container_ids(R"({"kind":"Pod","status":{"phase":"Running",
    "initContainerStatuses":[{"name":"first","containerID":"cri-o://aa"}],
    "containerStatuses":[{"containerID":"containerd://bb","name":"main","ready":true},
                         {"name":"waits","containerID":""},{"name":"new"}],
    "ephemeralContainerStatuses":[{"name":"look","containerID":"dd"}]}})");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, (ContainerIds{{"first", "aa"}, {"main", "bb"}, {"look", "dd"}}));
  EXPECT_EQ(read_container_ids("{}"), ContainerIds{});
}

TEST(ContainerIds, SaysWhatIsWrong) {
  const auto ids = read_container_ids(R"({"status":{"containerStatuses":[{"name":7}]}})");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message.find("status.containerStatuses[0].name"), std::string::npos);
}

}  // namespace
}  // namespace stowage::codec
