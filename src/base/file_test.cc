#include "base/file.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

std::string message_of(const Result<std::string>& text) {
  return text ? "read" : text.error().message;
}

class File : public testing::Test {
 protected:
  File() { std::filesystem::create_directories(folder_); }
  ~File() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_ = testing::TempDir() + "file_test_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(File, ComesBackAsItWasWritten) {
  const std::string large(200'000, 'x');
  for (const std::string& text : {std::string("a\r\n\0b", 5), std::string(), large}) {
    ASSERT_TRUE(write_file(path("a"), text));
    EXPECT_EQ(read_file(path("a"), 1 << 20).value_or("?"), text);
  }
}

TEST_F(File, SaysWhyItCannotBeRead) {
  EXPECT_EQ(message_of(read_file(path("none"), 1)),
            "cannot read " + path("none") + ": No such file or directory");
  EXPECT_EQ(message_of(read_file(folder_, 1)), "cannot read " + folder_ + ": Is a directory");
}

TEST_F(File, AboveItsLimitIsRefused) {
  const struct {
    std::size_t limit;
    const char* words;
  } rows[] = {{9, "9 bytes"}, {std::size_t{1} << 20U, "1 MiB"}};
  for (const auto& row : rows) {
    ASSERT_TRUE(write_file(path("a"), std::string(row.limit, 'x')));
    EXPECT_EQ(message_of(read_file(path("a"), row.limit)), "read");
    ASSERT_TRUE(write_file(path("a"), std::string(row.limit + 1, 'x')));
    EXPECT_EQ(message_of(read_file(path("a"), row.limit)),
              path("a") + " is larger than " + row.words);
  }
}

TEST_F(File, ErrorsHaveKinds) {
  ASSERT_TRUE(write_file(path("a"), "text"));
  using Kind = FileError::Kind;
  EXPECT_EQ(try_read_file(path("none"), 9).error().kind, Kind::open);
  EXPECT_EQ(try_read_file(folder_, 9).error().kind, Kind::read);
  EXPECT_EQ(try_read_file(path("a"), 3).error().kind, Kind::too_large);
}

TEST_F(File, SaysWhyItCannotBeWritten) {
  const auto written = write_file(path("none") + "/a", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "cannot write " + path("none") + "/a: No such file or directory");
}

}  // namespace
}  // namespace stowage::base
