#include "gpu/xid.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace stowage::gpu {
namespace {

TEST(Xid, ApplicationsDoNotMakeACardUnhealthy) {
  for (const std::uint32_t xid : {13U, 31U, 43U, 45U, 68U, 109U}) {
    EXPECT_EQ(meaning_of(xid).effect, XidEffect::none) << xid;
  }
}

TEST(Xid, SomeNeedAReset) {
  for (const std::uint32_t xid : {48U, 62U, 64U, 79U, 94U, 95U, 119U, 120U, 140U}) {
    EXPECT_EQ(meaning_of(xid).effect, XidEffect::needs_reset) << xid;
  }
}

TEST(Xid, UnknownOnesAreTakenSeriously) {
  for (const std::uint32_t xid : {0U, 1U, 14U, 150U, 999U, 0xFFFFFFFFU}) {
    EXPECT_EQ(meaning_of(xid).effect, XidEffect::rest) << xid;
    EXPECT_EQ(std::string(meaning_of(xid).words), "") << xid;
  }
}

// The table uses binary search, so it must be sorted.
TEST(Xid, EveryRowIsFound) {
  std::size_t known = 0;
  for (std::uint32_t xid = 0; xid < 1000; ++xid) {
    if (*meaning_of(xid).words != '\0') ++known;
  }
  EXPECT_EQ(known, 29U);
}

}  // namespace
}  // namespace stowage::gpu
