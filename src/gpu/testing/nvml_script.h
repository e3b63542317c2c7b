// Scripts the fake NVML (gpu/testing/fake_nvml.cc) for one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace stowage::gpu::testing {

// Paths of the two libraries in the build.
extern const char* const kFakeNvml;
extern const char* const kOldFakeNvml;

// A file of one test, removed at its end.
class TempFile {
 public:
  explicit TempFile(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "stowage-gpu-XXXXXX").string();
    STOWAGE_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    write(text);
  }
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  // Atomically, as an editor does.
  void write(const std::string& text) const {
    {
      std::ofstream file(path() + ".new", std::ios::binary);
      file << text;
      STOWAGE_CHECK(file.good());
    }
    std::filesystem::rename(path() + ".new", path());
  }
  void remove() const { std::filesystem::remove(path()); }
  [[nodiscard]] std::string path() const { return folder_ + "/file"; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

class NvmlScript {
 public:
  explicit NvmlScript(const std::string& text = "") : file_(text) {
    ::setenv("STOWAGE_FAKE_NVML", file_.path().c_str(), 1);
  }
  ~NvmlScript() { ::unsetenv("STOWAGE_FAKE_NVML"); }
  NvmlScript(const NvmlScript&) = delete;
  NvmlScript& operator=(const NvmlScript&) = delete;

  void say(const std::string& text) const { file_.write(text); }
  [[nodiscard]] const std::string& folder() const { return file_.folder(); }

 private:
  TempFile file_;
};

}  // namespace stowage::gpu::testing
