// Finds NVIDIA's CDI specifications on this machine, and reads them again when they change.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugin/nvidia_spec.h"

namespace stowage::plugin {

class DriverSpecs {
 public:
  // `folders`: those that count more first. Our own files in them are ignored.
  explicit DriverSpecs(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  // Looks at the folders, and reads files that are new or have changed. Folders that do not exist
  // are empty. An error names the file of NVIDIA's that cannot be used.
  [[nodiscard]] Result<std::vector<NvidiaSpec>> read();

 private:
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_nanos = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct File {
    Stamp stamp;
    Result<std::optional<NvidiaSpec>> content;
  };

  std::vector<std::string> folders_;
  std::map<std::string, File> files_;  // by path, those of the last read
};

// The name of our own file for a CDI device; other files do not begin like this.
inline constexpr std::string_view kOwnFilePrefix = "stowage.dev-gpu-";

}  // namespace stowage::plugin
