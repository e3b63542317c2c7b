#include "agent/resident_memory.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace stowage::agent {
namespace {

TEST(Footprint, KnowsPagesOfReadOnlyFiles) {
  Mapping mapping;
  EXPECT_TRUE(
      read_mapping("7f10a000-7f10b000 r-xp 00000000 fe:00 12  /usr/lib/libc.so.6", mapping));
  EXPECT_EQ(mapping.begin, 0x7f10a000U);
  EXPECT_EQ(mapping.end, 0x7f10b000U);
  EXPECT_TRUE(read_mapping("1000-2000 r--p 00000000 fe:00 12  /bin/x", mapping));
  for (const char* line :
       {"1000-2000 rw-p 00000000 fe:00 12  /bin/x", "1000-2000 r--p 00000000 00:00 0",
        "1000-2000 r-xp 00000000 00:00 0  [vdso]", "2000-1000 r--p 00000000 fe:00 12  /bin/x", "",
        "1000", "x-y r--p 0 0 0 /x", "1000-2000 r"}) {
    EXPECT_FALSE(read_mapping(line, mapping)) << line;
  }
}

TEST(Footprint, TheProgramGoesOnWithoutItsPages) {
  (void)drop_file_pages();
  std::ifstream status("/proc/self/status");
  std::string text(std::istreambuf_iterator<char>(status), {});
  EXPECT_NE(text.find("VmRSS"), std::string::npos);
}

}  // namespace
}  // namespace stowage::agent
