#include "plugin/checkpoint_file.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "plugin/device_ids.h"

namespace stowage::plugin {

CheckpointFile::Stamp CheckpointFile::stamp() const {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .changed_nanos = found.st_ctim.tv_sec * 1'000'000'000 + found.st_ctim.tv_nsec};
}

Status CheckpointFile::load() {
  static const std::set<std::string> kOurs(kResources.begin(), kResources.end());
  const Stamp now = stamp();
  if (now.size < 0) {
    return fail(fmt::format("the kubelet's checkpoint {} does not exist or is no file", path_));
  }
  if (now == stamp_) return {};
  const auto text = base::try_read_file(path_, kCheckpointBytesMax);
  if (!text) {
    return fail(fmt::format("the kubelet's checkpoint {} cannot be read: {}", path_,
                            text.error().kind == base::FileError::Kind::too_large
                                ? "it is too large"
                                : std::strerror(text.error().code)));
  }
  auto read = read_checkpoint(*text, kOurs);
  if (!read) {
    return fail(fmt::format("the kubelet's checkpoint {} cannot be understood: {}", path_,
                            read.error().message));
  }
  content_ = *std::move(read);
  // If it was replaced meanwhile, the next call reads it again.
  stamp_ = now;
  return {};
}

Result<const Checkpoint*> CheckpointFile::read() {
  Status loaded = load();
  if (!loaded) loaded = load();
  if (!loaded) return tl::unexpected(loaded.error());
  return &content_;
}

}  // namespace stowage::plugin
