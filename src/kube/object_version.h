// Reads metadata.resourceVersion of any object, and nothing else.
#pragma once

#include <string>
#include <string_view>

#include "codec/json_in.h"

namespace stowage::kube {

class ObjectVersion {
 public:
  // Empty if it cannot be found.
  [[nodiscard]] std::string of(std::string_view json);

 private:
  codec::JsonText text_;
};

}  // namespace stowage::kube
