// Manifests: errors name the file, and every result is one JSON object with a kind.
#include "client/manifests.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto manifests = client::Manifests::parse(std::string(input), "f.yaml");
  if (!good(manifests)) {
    STOWAGE_CHECK(manifests.error().message.find("f.yaml") != std::string::npos);
    return;
  }
  for (const auto& object : manifests->objects()) {
    STOWAGE_CHECK(!object.json.empty() && object.json.front() == '{' && object.json.back() == '}');
    STOWAGE_CHECK(object.document >= 1);
  }
}

}  // namespace stowage::fuzz
