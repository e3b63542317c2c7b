#include "core/volumes/claim_reservations.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

// Pod p binds claim c to volume v on node a, and gets a new volume for claim d there.
struct ClaimReservationsTest : ::testing::Test {
  ClaimReservationsTest() { made.reserve("p", {{"ns/c", "v"}, {"ns/d", ""}}, "a"); }
  // The result for pod q.
  [[nodiscard]] std::string found() const {
    std::string text;
    for (const char* claim : {"ns/c", "ns/d"}) {
      const auto* reservation = made.by_another(claim, "q");
      if (reservation != nullptr) text += reservation->volume + "@" + reservation->node;
      text += ";";
    }
    return text + (made.for_another("v", "ns/x", "q") ? "v is taken" : "");
  }
  ClaimReservations made;
};

TEST_F(ClaimReservationsTest, OthersFindThemAndThePodItselfDoesNot) {
  EXPECT_EQ(found(), "v@a;@a;v is taken");
  EXPECT_EQ(made.by_another("ns/c", "p"), nullptr);
  EXPECT_FALSE(made.for_another("v", "ns/x", "p"));
  EXPECT_FALSE(made.for_another("v", "ns/c", "q")) << "the claim that it is reserved for";
  EXPECT_FALSE(made.for_another("w", "ns/x", "q"));
}

TEST_F(ClaimReservationsTest, EndWithTheirPod) {
  made.reserve("p", {{"ns/c", "w"}}, "b");
  EXPECT_EQ(found(), "w@b;;") << "the newest counts";
  made.release("p");
  EXPECT_EQ(found(), ";;");
  EXPECT_TRUE(made.empty());
  made.release("p");
}

TEST_F(ClaimReservationsTest, EndWhenTheApiShowsThemDone) {
  made.seen(Claim{.name = "ns/c", .selected_node = "a"});
  EXPECT_EQ(found(), "v@a;@a;v is taken") << "it is bound to a volume that is there";
  made.seen(Claim{.name = "ns/d", .selected_node = "a"});
  EXPECT_EQ(found(), "v@a;;v is taken");
  made.seen(Volume{.name = "v", .claim = "ns/c"});
  EXPECT_EQ(found(), "v@a;;v is taken") << "pre-bound only";
  made.seen(Volume{.name = "v", .claim = "ns/x", .claim_uid = "x"});
  EXPECT_EQ(found(), "v@a;;v is taken") << "to another claim";
  made.seen(Volume{.name = "v", .claim = "ns/c", .claim_uid = "c"});
  EXPECT_TRUE(made.empty());
}

TEST_F(ClaimReservationsTest, EndWithAClaimThatIsBound) {
  made.reserve("q", {{"ns/c", "v"}}, "b");
  made.seen(Claim{.name = "ns/c", .volume = "v", .bound = true});
  EXPECT_EQ(found(), ";@a;") << "those of all pods";
}

}  // namespace
}  // namespace stowage::core
