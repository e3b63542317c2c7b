// Files that survive a crash of the machine: written, flushed to the disk, and put in place in one
// step. Blocks until the disk has them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::plugin {

// Replaces `folder`/`name`: readers see the old or the new content. The temporary file is in the
// same folder, without the suffix of the name, so that programs that watch for the suffix see only
// the rename.
struct DurableFile {
  std::string folder;
  std::string name;
};
[[nodiscard]] Status write_durably(const DurableFile& file, std::string_view text);
// Creates it and its parents. An existing folder is good.
[[nodiscard]] Status make_folder(const std::string& path);

// A file of lines that only grows. Every append is on the disk when it returns. After a failure the
// file has its old content, or part of a line, which the next append ends.
class AppendFile {
 public:
  AppendFile() = default;
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  [[nodiscard]] static Result<AppendFile> open(const std::string& path);
  [[nodiscard]] Status append(std::string_view lines);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  int fd_ = -1;
  std::size_t size_ = 0;
  bool cut_off_ = false;  // the last line has no end
  std::string path_;
};

}  // namespace stowage::plugin
