// A folder for one test, removed with its contents.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace stowage::net::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // Short: the path of a Unix socket has at most 107 characters.
    std::string pattern = (std::filesystem::temp_directory_path() / "stowage-XXXXXX").string();
    STOWAGE_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace stowage::net::testing
