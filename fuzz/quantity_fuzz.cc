// Quantity: the plain digits of an amount are the same amount, and rounding goes up.
#include "base/quantity.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto quantity = base::Quantity::parse(input);
  if (!good(quantity)) return;
  if (!quantity->text().ends_with(" or more")) {  // the maximum
    const auto again = base::Quantity::parse(quantity->text());
    STOWAGE_CHECK(again && *again == *quantity);
  }
  const auto units = quantity->units();
  if (good(units)) {
    const base::Quantity rounded = base::Quantity::of(*units);
    STOWAGE_CHECK(quantity->negative() || rounded >= *quantity);
    STOWAGE_CHECK(!quantity->whole() || rounded == *quantity);
  }
  const auto milli = quantity->milli();
  if (good(milli) && units) {
    STOWAGE_CHECK(*milli / 1000 <= *units + 1 && *milli / 1000 >= *units - 1);
  }
}

}  // namespace stowage::fuzz
