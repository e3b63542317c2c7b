#include "kube/outages.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/virtual_time.h"

namespace stowage::kube {
namespace {

using namespace std::chrono_literals;

struct OutagesTest : ::testing::Test {
  std::unique_ptr<Outages::Source> source(const std::string& what) {
    return std::make_unique<Outages::Source>(outages, what);
  }
  [[nodiscard]] bool said(std::size_t line, const std::string& words) const {
    return line < lines.size() && lines[line].find(words) != std::string::npos;
  }

  net::testing::VirtualTime time;
  net::EventLoop loop{time};
  std::vector<std::string> lines;
  base::Log log{{.write = [this](std::string_view line) { lines.emplace_back(line); }}};
  std::shared_ptr<Outages> outages = std::make_shared<Outages>(loop, log);
};

TEST_F(OutagesTest, AServerThatIsAwayTakesThreeLinesHoweverManyCallIt) {
  std::vector<std::unique_ptr<Outages::Source>> all;
  for (const char* what : {"pods", "nodes", "leases", "namespaces"}) all.push_back(source(what));
  for (int i = 0; i < 20; ++i) {
    for (std::size_t who = 0; who < all.size(); ++who) {
      const std::string path = "/api/v1/" + std::to_string(who);
      all[who]->failed(i == 0
                           ? "watch " + path +
                                 ": 10.0.0.1:6443 closed the connection in the middle of the "
                                 "answer (GET " +
                                 path + ")"
                           : "cannot list " + path + ": cannot connect to 10.0.0.1:6443: refused",
                       0);
    }
    time.pass(600ms);
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(said(0, "the API server is unavailable")) << lines[0];
  EXPECT_TRUE(said(0, "closed the connection in the middle of the answer")) << lines[0];
  EXPECT_TRUE(said(1, "for another reason")) << lines[1];
  EXPECT_TRUE(said(1, "refused")) << lines[1];
  for (const auto& one : all) {
    EXPECT_EQ(lines.size(), 2U);
    one->works();
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(said(2, "is available again")) << lines[2];
  EXPECT_TRUE(said(2, "seconds=12.0")) << lines[2];
  EXPECT_TRUE(said(2, "failures=80")) << lines[2];
  all[0]->works();
  EXPECT_EQ(lines.size(), 3U);
  all[0]->failed("cannot list x: cannot connect to 10.0.0.1:6443: refused", 0);
  EXPECT_TRUE(said(3, "is unavailable")) << "a new one";
}

TEST_F(OutagesTest, ARefusalIsOfTheOneWhoWasRefused) {
  const auto pods = source("pods");
  const auto budgets = source("budgets");
  for (int i = 0; i < 3; ++i) budgets->failed("cannot list budgets: 403 Forbidden", 403);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(said(0, "what=budgets"));
  pods->failed("cannot list pods: 503", 503);
  pods->works();
  EXPECT_EQ(lines.size(), 3U) << "it does not wait for the budgets";
  EXPECT_TRUE(said(2, "is available again"));
  budgets->works();
  EXPECT_TRUE(said(3, "accepts requests again"));
}

TEST_F(OutagesTest, WhoGoesAwayIsNotWaitedFor) {
  const auto pods = source("pods");
  auto nodes = source("nodes");
  pods->failed("cannot list pods: no", 0);
  nodes->failed("cannot list nodes: no", 0);
  pods->works();
  EXPECT_EQ(outages->away(), 1U);
  nodes.reset();
  EXPECT_EQ(outages->away(), 0U);
  EXPECT_EQ(lines.size(), 1U) << "nor does that say that the server is back";
}

TEST(OutageCause, IsTheSameForAllWhoAsk) {
  EXPECT_EQ(
      outage_cause("cannot list /api/v1/pods: h:1 did not answer GET /api/v1/pods within 60 s"),
      outage_cause("cannot renew lease a/b: h:1 did not answer PATCH /apis/x within 5 s"));
  EXPECT_NE(outage_cause("watch /api/v1/pods: refused"), outage_cause("watch /api/v1/pods: reset"));
  EXPECT_EQ(outage_cause(""), "");
  EXPECT_EQ(outage_cause("no colon"), "no colon");
}

}  // namespace
}  // namespace stowage::kube
