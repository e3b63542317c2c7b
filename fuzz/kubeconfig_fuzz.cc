// parse_kubeconfig: every entry has a name and is in the file; merging a file with itself changes
// nothing.
#include <string>

#include "fuzz/fuzz.h"
#include "kube/kubeconfig_file.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto file = kube::parse_kubeconfig("f", std::string(input));
  if (!good(file)) return;
  for (const auto& user : file->users) STOWAGE_CHECK(!user.name.empty());
  for (const auto& context : file->contexts) STOWAGE_CHECK(!context.name.empty());
  for (const auto& cluster : file->clusters) {
    STOWAGE_CHECK(!cluster.name.empty() && cluster.place.file == "f" && cluster.place.line > 0);
  }
  kube::KubeconfigFile merged = *file;
  kube::merge(merged, *file);
  STOWAGE_CHECK(merged.clusters.size() == file->clusters.size());
  STOWAGE_CHECK(merged.users.size() == file->users.size());
  STOWAGE_CHECK(merged.current_context == file->current_context);
}

}  // namespace stowage::fuzz
