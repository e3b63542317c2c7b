#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::base {
namespace {

TEST(Base64, EncodesTheVectorsOfTheStandard) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
}

TEST(Base64, SkipsBlanksUnlessRefused) {
  for (const char* text : {"Zm9v\nYmFy\n", " Zm9vYmFy", "Zm9v\tYmFy", "Zm9vYmFy\r\n"}) {
    EXPECT_EQ(base64_decode(text).value_or("?"), "foobar");
    EXPECT_FALSE(base64_decode(text, Base64Blanks::refuse)) << text;
  }
  EXPECT_EQ(base64_decode("Zm9vYg==", Base64Blanks::refuse).value_or("?"), "foob");
}

TEST(Base64, RefusesWhatIsNotBase64) {
  for (const char* text : {"Zg", "Zg=", "Z", "Zm9v*", "Zg==Zg==", "====", "Zm9vY", "Zg==="}) {
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
    EXPECT_FALSE(base64_decode(text, Base64Blanks::refuse).has_value()) << text;
  }
}

RC_GTEST_PROP(Base64, DecodingUndoesEncoding, (const std::string& bytes)) {
  RC_ASSERT(base64_decode(base64_encode(bytes)).value_or("?") == bytes);
}

}  // namespace
}  // namespace stowage::base
