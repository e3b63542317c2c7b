// A folder for the files of one test, removed at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace stowage::kube::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stowage-kube-XXXXXX").string();
    STOWAGE_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Replaces the file atomically, as token rotation does. Returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::string target = path(name);
    std::filesystem::create_directories(std::filesystem::path(target).parent_path());
    {
      std::ofstream file(target + ".new", std::ios::binary);
      file << text;
      STOWAGE_CHECK(file.good());
    }
    std::filesystem::rename(target + ".new", target);
    return target;
  }
  std::string write_script(const std::string& name, const std::string& text) const {
    std::string target = write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(target, std::filesystem::perms::owner_all);
    return target;
  }

 private:
  std::string path_;
};

}  // namespace stowage::kube::testing
