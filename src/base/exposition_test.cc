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

TEST(Exposition, CountsUpInAHistogram) {
  Exposition out;
  const std::vector<double> bounds{0.001, 0.5};
  const std::vector<std::uint64_t> counts{2, 1, 4};
  out.histogram("z_seconds", "Zs.", {.bounds = bounds, .counts = counts, .sum = 9.25});
  EXPECT_EQ(out.take(),
            "# HELP z_seconds Zs.\n# TYPE z_seconds histogram\n"
            "z_seconds_bucket{le=\"0.001\"} 2\nz_seconds_bucket{le=\"0.5\"} 3\n"
            "z_seconds_bucket{le=\"+Inf\"} 7\nz_seconds_sum 9.25\nz_seconds_count 7\n");
}

}  // namespace
}  // namespace stowage::base
