// Reads the kubelet's checkpoint of devices, again only when the file has changed.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "plugin/checkpoint.h"

namespace stowage::plugin {

class CheckpointFile {
 public:
  // `folder`: the kubelet's for device plugins.
  explicit CheckpointFile(const std::string& folder) : path_(folder + "/" + kCheckpointFile) {}

  // Valid until the next call. A file that cannot be read as a whole is read once more at once.
  // Errors name the file.
  [[nodiscard]] Result<const Checkpoint*> read();

 private:
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t changed_nanos = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] Status load();

  std::string path_;
  Stamp stamp_;  // of content_
  Checkpoint content_;
};

}  // namespace stowage::plugin
