#include "agent/podresources.h"

#include <optional>

#include <gtest/gtest.h>

#include "agent/testing/fake_kubelet.h"
#include "agent/testing/pod_messages.h"
#include "net/testing/virtual_time.h"

namespace stowage::agent {
namespace {

using grpc::Code;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::small_pod;
using List = Result<std::vector<PodDevices>>;

constexpr const char* kV1 = "/v1.PodResourcesLister/List";
constexpr const char* kAlpha = "/v1alpha1.PodResourcesLister/List";

class PodResourcesTest : public ::testing::Test {
 protected:
  void list() {
    got_.reset();
    resources_->list([this](List result) { got_ = std::move(result); });
  }
  [[nodiscard]] std::string error() const { return got_ && !*got_ ? got_->error().message : ""; }

  net::testing::VirtualTime time_;
  net::EventLoop loop_{time_};
  testing::FakeKubelet kubelet_;
  std::optional<PodResources> resources_{std::in_place, loop_, kubelet_, PodResourcesOptions{}};
  std::optional<List> got_;
};

TEST_F(PodResourcesTest, ListsWithVersionOne) {
  list();
  ASSERT_EQ(kubelet_.waiting(), 1U);
  EXPECT_EQ(kubelet_.first().method, kV1);
  EXPECT_EQ(kubelet_.first().options.deadline, seconds{10});
  EXPECT_EQ(kubelet_.first().options.response_bytes_max, std::size_t{16} << 20U);
  kubelet_.answer(small_pod("a", "GPU-0"));
  ASSERT_TRUE(got_ && *got_);
  EXPECT_EQ((*got_)->at(0).pod, (PodName{"ns", "a"}));
}

TEST_F(PodResourcesTest, AnOldKubeletIsRememberedUntilItsConnectionIsLost) {
  list();
  kubelet_.fail(Code::unimplemented, "unknown service v1.PodResourcesLister");
  EXPECT_FALSE(got_);
  EXPECT_EQ(kubelet_.first().method, kAlpha);
  kubelet_.answer("");
  EXPECT_TRUE(got_ && *got_);
  EXPECT_STREQ(resources_->version(), "v1alpha1");
  list();
  EXPECT_EQ(kubelet_.first().method, kAlpha);
  kubelet_.answer("");
  kubelet_.set_connections(2);
  EXPECT_STREQ(resources_->version(), "v1");
  list();
  EXPECT_EQ(kubelet_.first().method, kV1);
  kubelet_.answer("");
  EXPECT_TRUE(got_ && *got_);
  EXPECT_EQ(resources_->counters().fell_back, 1U);
}

// The call that still uses the old version is also the one that opens the new connection.
TEST_F(PodResourcesTest, ANewKubeletThatStillHasTheOldVersionIsAskedForTheNewOneNextTime) {
  list();
  kubelet_.fail(Code::unimplemented, "");
  kubelet_.answer("");
  list();
  EXPECT_EQ(kubelet_.first().method, kAlpha);
  kubelet_.set_connections(2);
  kubelet_.answer("");
  EXPECT_TRUE(got_ && *got_);
  list();
  EXPECT_EQ(kubelet_.first().method, kV1);
  kubelet_.answer("");
  EXPECT_STREQ(resources_->version(), "v1");
}

TEST_F(PodResourcesTest, ANewKubeletThatHasLostTheOldVersionIsAskedForTheNewOne) {
  list();
  kubelet_.fail(Code::unimplemented, "");
  kubelet_.answer("");
  list();
  kubelet_.set_connections(2);
  kubelet_.fail(Code::unimplemented, "");
  EXPECT_EQ(kubelet_.first().method, kV1);
  kubelet_.answer("");
  EXPECT_TRUE(got_ && *got_);
  EXPECT_STREQ(resources_->version(), "v1");
}

TEST_F(PodResourcesTest, AKubeletWithoutTheServiceIsAnError) {
  for (int i = 0; i < 2; ++i) {
    list();
    EXPECT_EQ(kubelet_.first().method, kV1);
    kubelet_.fail(Code::unimplemented, "no");
    kubelet_.fail(Code::unimplemented, "no");
    EXPECT_EQ(error(),
              "the kubelet serves neither v1 nor v1alpha1 of podresources: UNIMPLEMENTED: no");
  }
}

TEST_F(PodResourcesTest, AThrottledListIsAskedForAgainUntilItsTimeIsUp) {
  list();
  kubelet_.fail(Code::resource_exhausted, "rejected by rate limit");
  EXPECT_FALSE(got_);
  EXPECT_EQ(kubelet_.waiting(), 0U);
  time_.pass(milliseconds{200});
  ASSERT_EQ(kubelet_.waiting(), 1U);
  EXPECT_LT(kubelet_.first().options.deadline, seconds{10});
  kubelet_.answer("");
  EXPECT_TRUE(got_ && *got_);
  list();
  int tries = 0;
  for (; !got_ && tries < 100; ++tries) {
    if (kubelet_.waiting() != 0) kubelet_.fail(Code::resource_exhausted, "slow down");
    time_.pass(milliseconds{100});
  }
  EXPECT_EQ(error(), "the kubelet does not list pods and devices: RESOURCE_EXHAUSTED: slow down");
  EXPECT_LT(resources_->counters().throttled, 20U);
  EXPECT_EQ(resources_->counters().failed, 1U);
}

TEST_F(PodResourcesTest, ALimitOfOurOwnIsNoReasonToAskAgain) {
  list();
  kubelet_.fail(Code::resource_exhausted, "an answer of 17000000 bytes is longer than 16777216",
                false);
  EXPECT_EQ(error(),
            "the kubelet does not list pods and devices: RESOURCE_EXHAUSTED: an answer of 17000000 "
            "bytes is longer than 16777216");
}

TEST_F(PodResourcesTest, FailuresAreTold) {
  list();
  kubelet_.fail(Code::unavailable, "cannot connect to unix:/x: no such file or directory", false);
  EXPECT_EQ(
      error(),
      "the kubelet cannot be reached: UNAVAILABLE: cannot connect to unix:/x: no such file or "
      "directory");
  list();
  kubelet_.answer("\x0a\x05");
  EXPECT_EQ(
      error(),
      "the kubelet's list of pods and devices is invalid: the list of pods: malformed protobuf");
  EXPECT_EQ(resources_->counters().failed, 2U);
}

TEST_F(PodResourcesTest, ListsEndWithTheirOwner) {
  list();
  list();
  EXPECT_EQ(kubelet_.waiting(), 2U);
  resources_.reset();
  EXPECT_EQ(kubelet_.waiting(), 0U);
  time_.pass(seconds{60});
  EXPECT_FALSE(got_);
}

TEST_F(PodResourcesTest, MayBeDestroyedInItsCallback) {
  int replies = 0;
  for (int i = 0; i < 2; ++i) {
    resources_->list([&](const List&) {
      ++replies;
      resources_.reset();
    });
  }
  kubelet_.answer("");
  EXPECT_EQ(replies, 1);
  EXPECT_EQ(kubelet_.waiting(), 0U);
}

}  // namespace
}  // namespace stowage::agent
