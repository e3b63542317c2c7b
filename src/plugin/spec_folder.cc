#include "plugin/spec_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.h"
#include "plugin/driver_specs.h"
#include "plugin/durable_file.h"
#include "plugin/record.h"

namespace stowage::plugin {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kFileBytesMax = std::size_t{4} << 20U;

}  // namespace

std::string SpecFolder::file_of(std::string_view device) const {
  return fmt::format("{}{}{}", kOwnFilePrefix, device, kSuffix);
}

std::optional<std::string> SpecFolder::read(std::string_view device) const {
  auto text = base::try_read_file(path_ + "/" + file_of(device), kFileBytesMax);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

Result<bool> SpecFolder::write(std::string_view device, const std::string& text) const {
  if (read(device) == text) return false;
  STOWAGE_TRY_VOID(make_folder(path_));
  STOWAGE_TRY_VOID(write_durably({.folder = path_, .name = file_of(device)}, text));
  return true;
}

Status SpecFolder::remove(std::string_view device) const {
  const std::string path = path_ + "/" + file_of(device);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(fmt::format("cannot remove {}: {}", path, std::strerror(errno)));
}

std::vector<std::string> SpecFolder::devices() const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator at(path_, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(kOwnFilePrefix) || !name.ends_with(kSuffix)) continue;
    name = name.substr(kOwnFilePrefix.size(), name.size() - kOwnFilePrefix.size() - kSuffix.size());
    if (is_cdi_name(name)) found.push_back(std::move(name));
  }
  return found;
}

}  // namespace stowage::plugin
