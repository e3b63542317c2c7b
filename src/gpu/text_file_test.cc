#include "gpu/text_file.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "gpu/testing/nvml_script.h"

namespace stowage::gpu {
namespace {

TEST(TextFile, IsReadWholeUpToTheLimit) {
  const testing::TempFile file("0123456789");
  EXPECT_EQ(read_text_file(file.path(), 10).value_or(""), "0123456789");
  const auto large = read_text_file(file.path(), 9);
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().message, file.path() + " is larger than 9 bytes");
}

TEST(TextFile, NothingElseIsReadAndNothingIsWaitedFor) {
  const testing::TempFile file("");
  const std::string pipe = file.folder() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_text_file(pipe, 10).has_value());
  EXPECT_FALSE(read_text_file(file.folder(), 10).has_value());
  EXPECT_FALSE(read_text_file("/dev/zero", 10).has_value());
  EXPECT_FALSE(read_text_file(file.folder() + "/none", 10).has_value());
}

}  // namespace
}  // namespace stowage::gpu
