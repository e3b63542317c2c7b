// Collects what is wrong with the fields of an object, in the words of the API.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local/api_error.h"

namespace stowage::local {

class Problems {
 public:
  void required(std::string field, std::string_view why = {});
  void invalid(std::string field, std::string_view value, std::string_view why);
  void unsupported(std::string field, std::string_view value,
                   std::initializer_list<std::string_view> supported);
  void forbidden(std::string field, std::string_view why);
  void duplicate(std::string field, std::string_view value);

  // `value` must be one of those; an empty value is always accepted.
  void one_of(std::string field, std::string_view value,
              std::initializer_list<std::string_view> supported);

  [[nodiscard]] bool empty() const { return causes_.empty(); }
  [[nodiscard]] std::vector<ErrorCause> take() { return std::move(causes_); }

 private:
  std::vector<ErrorCause> causes_;
};

}  // namespace stowage::local
