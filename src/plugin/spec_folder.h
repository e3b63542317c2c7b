// Our CDI specifications in the folder that container runtimes watch: one file for each container.
//
// Runtimes notice a rename within the folder, and nothing else reliably. A file under a name that a
// runtime has read before may be used in its old content. So a file is written once, in one step,
// and its name is never used again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::plugin {

class SpecFolder {
 public:
  explicit SpecFolder(std::string path) : path_(std::move(path)) {}

  // Does nothing if the file is there with this content: the result is false then.
  [[nodiscard]] Result<bool> write(std::string_view device, const std::string& text) const;
  // The content for this device; unset if there is none that can be read.
  [[nodiscard]] std::optional<std::string> read(std::string_view device) const;
  [[nodiscard]] Status remove(std::string_view device) const;
  // The devices of all our files.
  [[nodiscard]] std::vector<std::string> devices() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::string file_of(std::string_view device) const;

  std::string path_;
};

}  // namespace stowage::plugin
