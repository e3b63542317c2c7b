#include "codec/lease.h"

#include <gtest/gtest.h>

namespace stowage::codec {
namespace {

TEST(Lease, IsWrittenAndReadBack) {
  const LeaseRequest ask{.ns = "kube-system",
                         .name = "stowage",
                         .resource_version = "7",
                         .holder = "a_1",
                         .seconds = 15,
                         .acquired_micros = 1'700'000'000'000'001,
                         .renewed_micros = 1'700'000'000'500'000,
                         .transitions = 3,
                         .annotations = {{"stowage.dev/leader", "{}"}}};
  const auto read = read_lease(lease_patch(ask));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->resource_version, "7");
  EXPECT_EQ(read->holder, "a_1");
  EXPECT_EQ(read->seconds, 15);
  EXPECT_EQ(read->transitions, 3);
  EXPECT_EQ(read->acquired, "2023-11-14T22:13:20.000001Z");
  EXPECT_EQ(read->renewed, "2023-11-14T22:13:20.500000Z");
  EXPECT_EQ(read->annotations, ask.annotations);
  const std::string whole = lease(ask);
  EXPECT_NE(whole.find(R"("apiVersion":"coordination.k8s.io/v1","kind":"Lease")"),
            std::string::npos);
  EXPECT_EQ(whole.find("resourceVersion"), std::string::npos);
}

TEST(Lease, ThatIsNotHeldHasNoHolder) {
  const auto read = read_lease(R"({"metadata":{"resourceVersion":"1"},"spec":{}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->holder, "");
  EXPECT_EQ(read->seconds, 0);
}

TEST(Lease, WhatCannotBeReadIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"metadata":{}})", R"({"metadata":[]})",
                           R"({"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":1}})",
                           R"({"metadata":{"resourceVersion":"1"},"spec":{}} x)"}) {
    EXPECT_FALSE(read_lease(text)) << text;
  }
}

}  // namespace
}  // namespace stowage::codec
