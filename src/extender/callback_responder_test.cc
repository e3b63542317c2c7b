#include "extender/callback_responder.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace stowage::extender {
namespace {

struct CallbackResponderTest : ::testing::Test {
  [[nodiscard]] std::shared_ptr<net::Responder> make() {
    return std::make_shared<CallbackResponder>(
        [this](const net::HttpResponse& answer) { codes.push_back(answer.status); });
  }
  std::vector<int> codes;
};

TEST_F(CallbackResponderTest, AnswersOnce) {
  auto responder = make();
  responder->send({.status = 200});
  responder->send({.status = 500});
  responder.reset();
  EXPECT_EQ(codes, std::vector<int>{200});
}

TEST_F(CallbackResponderTest, WhoIsForgottenIsAnsweredToo) {
  make().reset();
  EXPECT_EQ(codes, std::vector<int>{503});
}

TEST_F(CallbackResponderTest, AnswersComeWhole) {
  auto responder = make();
  responder->begin({.status = 200});
  responder->write(std::make_shared<const std::string>("half"));
  responder->end();
  EXPECT_EQ(codes, std::vector<int>{502});
}

}  // namespace
}  // namespace stowage::extender
