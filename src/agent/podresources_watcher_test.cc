#include "agent/podresources_watcher.h"

#include <optional>

#include <gtest/gtest.h>

#include "agent/testing/fake_kubelet.h"
#include "agent/testing/pod_messages.h"
#include "net/testing/virtual_time.h"

namespace stowage::agent {
namespace {

using grpc::Code;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::small_pod;

class WatcherTest : public ::testing::Test {
 protected:
  void start() {
    watcher_.emplace(
        loop_, resources_, WatcherOptions{},
        PodResourcesWatcher::Deps{
            .on_changes =
                [this](const PodChanges& changes) {
                  changes_.push_back(changes);
                  if (destroy_) watcher_.reset();
                },
            .on_contact = [this](const Contact& contact) { contacts_.push_back(contact); }});
    watcher_->start();
  }
  void refuse() { kubelet_.fail(Code::unavailable, "gone", false); }

  // Time until the kubelet is asked.
  net::Duration until_asked() {
    const net::Moment start = time_.now();
    while (kubelet_.waiting() == 0 && time_.now() - start < minutes{1})
      time_.pass(milliseconds{10});
    return time_.now() - start;
  }

  net::testing::VirtualTime time_;
  net::EventLoop loop_{time_};
  testing::FakeKubelet kubelet_;
  PodResources resources_{loop_, kubelet_, {}};
  std::optional<PodResourcesWatcher> watcher_;
  std::vector<PodChanges> changes_;
  std::vector<Contact> contacts_;
  bool destroy_ = false;
};

TEST_F(WatcherTest, ReportsWhatChanges) {
  start();
  EXPECT_FALSE(watcher_->contact().in_touch);
  kubelet_.answer(small_pod("a", "0") + small_pod("b", "1"));
  ASSERT_EQ(changes_.size(), 1U);
  EXPECT_EQ(changes_[0].changed.size(), 2U);
  ASSERT_EQ(contacts_.size(), 1U);
  EXPECT_TRUE(contacts_[0].in_touch);
  EXPECT_EQ(until_asked(), seconds{2});
  kubelet_.answer(small_pod("b", "1") + small_pod("a", "0"));
  EXPECT_EQ(changes_.size(), 1U);  // another order is not a change
  EXPECT_EQ(until_asked(), seconds{2});
  kubelet_.answer(small_pod("b", "7"));
  ASSERT_EQ(changes_.size(), 2U);
  EXPECT_EQ(changes_[1].gone, (std::vector<PodName>{{"ns", "a"}}));
  ASSERT_EQ(changes_[1].changed.size(), 1U);
  EXPECT_EQ(watcher_->pods(), changes_[1].changed);
  EXPECT_EQ(contacts_.size(), 1U);
}

TEST_F(WatcherTest, AnEmptyListIsContactWithoutChanges) {
  start();
  kubelet_.answer("");
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(contacts_.size(), 1U);
}

TEST_F(WatcherTest, ALostKubeletIsToldAndWhatWasKnownStays) {
  start();
  kubelet_.answer(small_pod("a", "0"));
  until_asked();
  const net::Moment lost = time_.now();
  net::Duration longest{};
  for (int i = 0; i < 12; ++i) {
    refuse();
    longest = until_asked();
    EXPECT_LE(longest, seconds{10});
  }
  EXPECT_GE(longest, seconds{6});
  ASSERT_EQ(contacts_.size(), 2U);
  EXPECT_FALSE(contacts_[1].in_touch);
  EXPECT_EQ(contacts_[1].since, lost);
  EXPECT_EQ(contacts_[1].why, "the kubelet cannot be reached: UNAVAILABLE: gone");
  EXPECT_EQ(contacts_[1].heard, contacts_[0].heard);
  EXPECT_EQ(watcher_->pods().size(), 1U);
  kubelet_.fail(Code::internal, "sick");
  ASSERT_EQ(contacts_.size(), 3U);  // another reason, since the same moment
  EXPECT_EQ(contacts_[2].since, lost);
  until_asked();
  kubelet_.answer(small_pod("a", "0"));
  EXPECT_EQ(changes_.size(), 1U);
  ASSERT_EQ(contacts_.size(), 4U);
  EXPECT_TRUE(contacts_[3].in_touch);
  EXPECT_EQ(until_asked(), seconds{2});
}

TEST_F(WatcherTest, ANudgeIsHeededSoonButNotTooOften) {
  start();
  kubelet_.answer("");
  time_.pass(seconds{1});
  watcher_->refresh_soon();
  EXPECT_EQ(until_asked(), milliseconds{10});
  kubelet_.answer("");
  for (int i = 0; i < 100; ++i) {
    watcher_->refresh_soon();
    time_.pass(milliseconds{10});
    if (kubelet_.waiting() != 0) kubelet_.answer("");
  }
  EXPECT_GE(kubelet_.total(), 8U);
  EXPECT_LE(kubelet_.total(), 13U);
}

TEST_F(WatcherTest, ANudgeDuringAListIsHeededAfterIt) {
  start();
  watcher_->refresh_soon();
  EXPECT_EQ(kubelet_.waiting(), 1U);
  time_.pass(seconds{1});
  kubelet_.answer("");
  EXPECT_EQ(until_asked(), milliseconds{10});
  kubelet_.answer("");
  EXPECT_EQ(until_asked(), seconds{2});
}

TEST_F(WatcherTest, ANudgeEndsAPause) {
  start();
  for (int i = 0; i < 6; ++i) {
    refuse();
    until_asked();
  }
  refuse();
  time_.pass(milliseconds{500});
  watcher_->refresh_soon();
  EXPECT_EQ(until_asked(), milliseconds{10});
}

TEST_F(WatcherTest, StopsAndMayBeDestroyedInACallback) {
  start();
  watcher_->refresh_soon();
  watcher_->stop();
  kubelet_.answer(small_pod("a", "0"));
  time_.pass(minutes{1});
  EXPECT_EQ(kubelet_.waiting(), 0U);
  EXPECT_TRUE(changes_.empty());
  destroy_ = true;
  start();
  kubelet_.answer(small_pod("a", "0"));
  EXPECT_FALSE(watcher_);
  EXPECT_EQ(changes_.size(), 1U);
  EXPECT_TRUE(contacts_.empty());
  time_.pass(minutes{1});
  EXPECT_EQ(kubelet_.waiting(), 0U);
}

}  // namespace
}  // namespace stowage::agent
