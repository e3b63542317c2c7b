// The Prometheus text format for metrics.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowage::base {

class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  enum class Type : std::uint8_t { counter, gauge, histogram };

  // Starts a family of samples. Requires: a new name.
  void family(std::string_view name, Type type, std::string_view help);
  void sample(double value, const Labels& labels = {});
  void sample(std::uint64_t value, const Labels& labels = {});
  // A family of one sample.
  void counter(std::string_view name, std::string_view help, std::uint64_t value);
  void gauge(std::string_view name, std::string_view help, double value);

  // A family of one histogram. Requires: one count per bound, and one more for values beyond the
  // last bound. Each count excludes the buckets before it.
  struct Distribution {
    std::span<const double> bounds;  // upper bounds, ascending
    std::span<const std::uint64_t> counts;
    double sum = 0;
  };
  void histogram(std::string_view name, std::string_view help, const Distribution& values);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void sample_text(std::string_view value, const Labels& labels, std::string_view suffix = {});

  std::string out_;
  std::string name_;
};

}  // namespace stowage::base
