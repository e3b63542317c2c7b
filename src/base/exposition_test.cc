#include "base/exposition.h"

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

TEST(Exposition, WritesFamiliesAndEscapesLabels) {
  Exposition out;
  out.counter("x_total", "Xs.", 3);
  out.family("y", Exposition::Type::gauge, "Ys.");
  out.sample(0.5, {{"a", "1"}, {"b", "q\"\\\n"}});
  EXPECT_EQ(out.take(),
            "# HELP x_total Xs.\n# TYPE x_total counter\nx_total 3\n"
            "# HELP y Ys.\n# TYPE y gauge\ny{a=\"1\",b=\"q\\\"\\\\\\n\"} 0.5\n");
}

}  // namespace
}  // namespace stowage::base
