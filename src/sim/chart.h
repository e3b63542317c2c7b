// Pictures as SVG elements for an HTML page. Colours are CSS classes of the page: a0, a1, ... for
// series and b0, b1, ... for parts of bars, so that light and dark pages can choose their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::sim {

inline constexpr std::size_t kSeriesColours = 8;  // further series reuse the colours, with dashes

struct Point {
  double x = 0;
  double y = 0;
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct Axis {
  double min = 0;
  double max = 1;
  double step = 1;  // between ticks
  std::string label;
};

struct LineChart {
  std::string title;  // for readers who cannot see the picture
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Point> limit;  // a dashed line: the upper bound of all series
  std::string limit_name;
};
[[nodiscard]] std::string to_svg(const LineChart& chart);

struct Bar {
  std::string name;
  std::vector<double> parts;  // drawn one after another
  std::string value;          // text after the bar
  std::size_t colour = 0;     // of the first part; each further part has the next colour
};

struct BarChart {
  std::string title;
  std::vector<std::string> parts;  // names, for tooltips; may be empty
  std::vector<Bar> bars;
  double max = 1;
  enum class Colours { series, parts } colours = Colours::parts;
};
[[nodiscard]] std::string to_svg(const BarChart& chart);

// Escapes & < > " for HTML and attributes.
[[nodiscard]] std::string html_escaped(std::string_view text);

// A step of 1, 2 or 5 times a power of ten that gives about `ticks` ticks over `range`.
[[nodiscard]] double tick_step(double range, int ticks);

}  // namespace stowage::sim
