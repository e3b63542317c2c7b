#include "plugin/driver_specs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"

namespace stowage::plugin {
namespace {

constexpr std::size_t kFilesMax = 256;  // of others, in one folder

// Sorted paths. Unreadable folders have none.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool spec = name.ends_with(".json") || name.ends_with(".yaml");
    if (spec && !name.starts_with(kOwnFilePrefix)) paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  if (paths.size() > kFilesMax) paths.resize(kFilesMax);
  return paths;
}

// Two files of one folder with a device of one name: runtimes drop both.
Status check_distinct(const std::vector<NvidiaSpec>& specs, std::size_t from) {
  std::map<std::string_view, std::string_view> seen;
  for (std::size_t i = from; i < specs.size(); ++i) {
    for (const auto& [name, edits] : specs[i].devices) {
      const auto [at, fresh] = seen.emplace(name, specs[i].file);
      if (!fresh) {
        return fail(fmt::format("{} and {} both describe device {}; remove one of them", at->second,
                                specs[i].file, name));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<NvidiaSpec>> DriverSpecs::read() {
  std::vector<NvidiaSpec> specs;
  std::set<std::string> present;
  std::string broken;
  for (const std::string& folder : folders_) {
    const std::size_t from = specs.size();
    for (const std::string& path : files_in(folder)) {
      struct stat found {};
      if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
      present.insert(path);
      const Stamp stamp{
          .device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .changed_nanos = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
      auto at = files_.find(path);
      if (at == files_.end() || !(at->second.stamp == stamp)) {
        const auto text = base::read_file(path, kNvidiaSpecBytesMax);
        auto content = text ? parse_nvidia_spec(*text, path)
                            : Result<std::optional<NvidiaSpec>>(fail(text.error().message));
        at = files_.insert_or_assign(path, File{stamp, std::move(content)}).first;
      }
      const auto& content = at->second.content;
      if (content && *content) specs.push_back(**content);
      if (!content && broken.empty()) broken = content.error().message;
    }
    STOWAGE_TRY_VOID(check_distinct(specs, from));
  }
  std::erase_if(files_, [&](const auto& each) { return present.count(each.first) == 0; });
  // A file of somebody else may be broken, as long as NVIDIA's can be read.
  if (specs.empty() && !broken.empty()) return fail(std::move(broken));
  return specs;
}

}  // namespace stowage::plugin
