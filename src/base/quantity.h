// Kubernetes quantities ("250m", "1.5Gi", "1e3"), exact: an integer number of nano-units that
// saturates where the API's own type does. No floating point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::base {

class Quantity {
 public:
  constexpr Quantity() = default;
  [[nodiscard]] static Result<Quantity> parse(std::string_view text);
  [[nodiscard]] static Quantity of(std::int64_t units);

  // Rounded up, as Kubernetes does; an error that names the amount if it does not fit 64 bits.
  [[nodiscard]] Result<std::int64_t> units() const;
  [[nodiscard]] Result<std::int64_t> milli() const;
  // True for integers; extended resources must be integers.
  [[nodiscard]] bool whole() const;
  [[nodiscard]] bool negative() const { return nano_ < 0; }
  [[nodiscard]] bool zero() const { return nano_ == 0; }
  [[nodiscard]] std::string text() const;  // for messages: the amount in plain digits

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  __extension__ typedef __int128 Nano;
  Nano nano_ = 0;
};

}  // namespace stowage::base
