#include "kube/object_version.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBytesMax = std::size_t{64} << 20U;

Status read_metadata(codec::JsonValue& metadata, std::string& version) {
  return codec::each_field(metadata, [&](std::string_view key, codec::JsonValue& value) -> Status {
    return key == "resourceVersion" ? codec::read(value, version) : Status();
  });
}

}  // namespace

std::string ObjectVersion::of(std::string_view json) {
  std::string version;
  auto fields = text_.open(json, kBytesMax);
  if (!fields) return version;
  const Status status =
      codec::each_field(*fields, [&](std::string_view key, codec::JsonValue& value) -> Status {
        return key == "metadata" ? read_metadata(value, version) : Status();
      });
  return status ? version : std::string();
}

}  // namespace stowage::kube
