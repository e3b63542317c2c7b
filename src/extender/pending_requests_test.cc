#include "extender/pending_requests.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/virtual_time.h"

namespace stowage::extender {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PendingRequestsTest : public ::testing::Test {
 protected:
  PendingRequest question(const std::string& name) {
    PendingRequest made;
    made.request.http.target = name;
    return made;
  }
  void enter(const std::string& name) { pending_requests_.enter(question(name)); }

  net::testing::VirtualTime time_;
  net::EventLoop loop_{time_};
  bool open_ = false;
  std::vector<std::string> answered_;
  PendingRequests pending_requests_{
      loop_,
      {.patience = seconds{3}, .look = milliseconds{20}, .waiting_max = 3},
      {.open = [this] { return open_; },
       .answer =
           [this](const PendingRequest& each) {
             answered_.push_back(each.request.http.target + (open_ ? "" : " in vain"));
           }}};
};

using Names = std::vector<std::string>;

TEST_F(PendingRequestsTest, NoRequestWaitsWhileThereIsAnAnswer) {
  open_ = true;
  enter("a");
  EXPECT_EQ(answered_, Names{"a"});
  EXPECT_EQ(pending_requests_.waited(), 0U);
}

TEST_F(PendingRequestsTest, WhoWaitsIsAnsweredInOrderAsSoonAsItCanBe) {
  enter("a");
  time_.pass(seconds{1});
  enter("b");
  EXPECT_EQ(pending_requests_.waiting(), 2U);
  EXPECT_EQ(answered_, Names{});
  open_ = true;
  time_.pass(milliseconds{20});
  EXPECT_EQ(answered_, (Names{"a", "b"}));
  EXPECT_EQ(pending_requests_.waiting(), 0U);
  EXPECT_EQ(pending_requests_.waited(), 2U);
}

TEST_F(PendingRequestsTest, PatienceEnds) {
  enter("a");
  time_.pass(seconds{2});
  enter("b");
  EXPECT_EQ(answered_, Names{});
  time_.pass(milliseconds{1020});
  EXPECT_EQ(answered_, Names{"a in vain"});
  time_.pass(seconds{2});
  EXPECT_EQ(answered_, (Names{"a in vain", "b in vain"}));
}

TEST_F(PendingRequestsTest, AFullQueueAnswersAtOnce) {
  for (const char* name : {"a", "b", "c", "d"}) enter(name);
  EXPECT_EQ(pending_requests_.waiting(), 3U);
  EXPECT_EQ(answered_, Names{"d in vain"});
}

TEST_F(PendingRequestsTest, OneThatCouldNotBeAnsweredAfterAllIsTriedAgainLater) {
  PendingRequest failed = question("a");
  failed.until = loop_.now() + seconds{1};
  open_ = true;
  EXPECT_TRUE(pending_requests_.patient(failed));
  pending_requests_.wait(std::move(failed));
  EXPECT_EQ(answered_, Names{}) << "not in the same breath";
  time_.pass(milliseconds{20});
  EXPECT_EQ(answered_, Names{"a"});
}

}  // namespace
}  // namespace stowage::extender
