#include "grpc/status.h"

#include <gtest/gtest.h>

namespace stowage::grpc {
namespace {

TEST(Status, CodesAreKnownByNumberAndWord) {
  for (unsigned number = 0; number <= 16; ++number) {
    EXPECT_EQ(code_of_text(std::to_string(number)), static_cast<Code>(number));
  }
  EXPECT_STREQ(to_string(Code::ok), "OK");
  EXPECT_STREQ(to_string(Code::unavailable), "UNAVAILABLE");
  EXPECT_STREQ(to_string(Code::unauthenticated), "UNAUTHENTICATED");
  for (const char* bad : {"", "17", "-1", "+1", " 0", "0 ", "0x1", "99999999999999999999", "ok"}) {
    EXPECT_EQ(code_of_text(bad), Code::unknown) << bad;
  }
}

TEST(Status, IsTextForPeople) {
  EXPECT_EQ(to_text({Code::unavailable, "no such file"}), "UNAVAILABLE: no such file");
  EXPECT_EQ(to_text({Code::cancelled, ""}), "CANCELLED");
}

TEST(Status, HttpAndResetsHaveCodes) {
  const std::pair<int, Code> http[] = {
      {400, Code::internal},      {401, Code::unauthenticated}, {403, Code::permission_denied},
      {404, Code::unimplemented}, {429, Code::unavailable},     {502, Code::unavailable},
      {503, Code::unavailable},   {504, Code::unavailable},     {500, Code::unknown},
      {302, Code::unknown},       {0, Code::unknown},
  };
  for (const auto& [status, code] : http) EXPECT_EQ(code_of_http(status), code) << status;
  const std::pair<std::uint32_t, Code> resets[] = {
      {0, Code::internal},           {1, Code::internal},      {5, Code::unknown},
      {7, Code::unavailable},        {8, Code::cancelled},     {11, Code::resource_exhausted},
      {12, Code::permission_denied}, {0xdead, Code::internal},
  };
  for (const auto& [error, code] : resets) EXPECT_EQ(code_of_reset(error), code) << error;
}

}  // namespace
}  // namespace stowage::grpc
