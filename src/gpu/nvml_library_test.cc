#include "gpu/nvml_library.h"

#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "gpu/testing/nvml_script.h"

namespace stowage::gpu::nvml {
namespace {

using gpu::testing::kFakeNvml;
using gpu::testing::kOldFakeNvml;
using gpu::testing::NvmlScript;

TEST(NvmlLibrary, IsFoundOrTheErrorSaysWhatIsMissing) {
  const auto none = Library::load("libno-such-nvml.so.1");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("libno-such-nvml.so.1"), std::string::npos);
  const auto other = Library::load("libm.so.6");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "libm.so.6 is not NVML: it lacks the functions of NVML");
}

TEST(NvmlLibrary, OldOnesLackFunctionsAndSaySoWhenCalled) {
  const NvmlScript script;
  const auto now = Library::load(kFakeNvml);
  const auto before = Library::load(kOldFakeNvml);
  ASSERT_TRUE(now.has_value()) << now.error().message;
  ASSERT_TRUE(before.has_value()) << before.error().message;
  EXPECT_NE((*now)->memory_v2, nullptr);
  EXPECT_EQ((*before)->memory_v2, nullptr);
  EXPECT_EQ((*before)->event_wait, nullptr);
  EXPECT_NE((*before)->compute_processes_v1, nullptr);
  MemoryV2 memory;
  EXPECT_EQ(call((*before)->memory_v2, nullptr, &memory), kFunctionNotFound);
}

// The fake has every function name that we look up; both use the same list.
TEST(NvmlLibrary, AllFunctionsAreFoundInANewOne) {
  const auto library = Library::load(kFakeNvml);
  ASSERT_TRUE(library.has_value());
  const Functions& functions = **library;
  static_assert(sizeof(Functions) % sizeof(void*) == 0);
  std::array<void*, sizeof(Functions) / sizeof(void*)> all{};
  std::memcpy(all.data(), &functions, sizeof(Functions));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NE(all[i], nullptr) << i;
}

TEST(NvmlLibrary, TextEndsWhereItEndsAndPrints) {
  const std::array<char, 8> whole{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  EXPECT_EQ(clean_text(whole.data(), whole.size()), "abcdefgh") << "without an end";
  EXPECT_EQ(clean_text("ab\0cd", 5), "ab");
  EXPECT_EQ(clean_text("a\nb\x7F\xFF", 5), "a?b??");
  EXPECT_EQ(clean_text("", 1), "");
}

TEST(NvmlLibrary, WordsNameTheNumber) {
  const auto library = Library::load(kFakeNvml);
  ASSERT_TRUE(library.has_value());
  EXPECT_EQ((*library)->words(kGpuIsLost), "GPU is lost (NVML error 15)");
}

}  // namespace
}  // namespace stowage::gpu::nvml
