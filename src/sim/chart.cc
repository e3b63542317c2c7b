#include "sim/chart.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace stowage::sim {
namespace {

// The drawing area of a line chart, in units of the picture.
constexpr double kWidth = 860;
constexpr double kHeight = 380;
constexpr double kLeft = 64;
constexpr double kRight = 150;  // for the names of the series
constexpr double kTop = 16;
constexpr double kBottom = 52;

constexpr double kLineOfText = 16;
constexpr double kBarHeight = 22;
constexpr double kBarPitch = 34;
constexpr double kBarNames = 190;
constexpr double kBarValues = 130;

// Converts data to picture coordinates.
class Frame {
 public:
  Frame(const Axis& x, const Axis& y) : x_(x), y_(y) {}
  [[nodiscard]] double x(double value) const {
    return kLeft + (value - x_.min) / (x_.max - x_.min) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (value - y_.min) / (y_.max - y_.min) * (kHeight - kTop - kBottom);
  }

 private:
  const Axis& x_;
  const Axis& y_;
};

std::string path_of(const Frame& frame, const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points) {
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : " L",
                   frame.x(point.x), frame.y(point.y));
  }
  return path;
}

std::string axes(const LineChart& chart, const Frame& frame) {
  std::string svg;
  auto out = std::back_inserter(svg);
  const double bottom = kHeight - kBottom;
  const double right = kWidth - kRight;
  for (double y = chart.y.min; y <= chart.y.max + 1e-9; y += chart.y.step) {
    fmt::format_to(out, R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft,
                   right, frame.y(y), frame.y(y));
    fmt::format_to(out, R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{:g} %</text>)",
                   kLeft - 8, frame.y(y) + 4, y);
  }
  for (double x = chart.x.min; x <= chart.x.max + 1e-9; x += chart.x.step) {
    fmt::format_to(out, R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)",
                   frame.x(x), frame.x(x), kTop, bottom);
    fmt::format_to(out,
                   R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{:g} %</text>)",
                   frame.x(x), bottom + 18, x);
  }
  fmt::format_to(out, R"(<text class="axis" x="{}" y="{}" text-anchor="middle">{}</text>)",
                 (kLeft + right) / 2, kHeight - 10, html_escaped(chart.x.label));
  fmt::format_to(out,
                 R"svg(<text class="axis" transform="translate(14 {}) rotate(-90)" )svg"
                 R"svg(text-anchor="middle">{}</text>)svg",
                 (kTop + bottom) / 2, html_escaped(chart.y.label));
  return svg;
}

// Heights of the names at the end of the lines: as close to the lines as possible without
// overlapping or leaving the picture.
std::vector<double> label_heights(const LineChart& chart, const Frame& frame) {
  std::vector<double> wanted;
  wanted.reserve(chart.series.size());
  for (const Series& series : chart.series) {
    wanted.push_back(series.points.empty() ? kTop : frame.y(series.points.back().y));
  }
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  double above = kTop - kLineOfText;
  for (const std::size_t i : order) {
    wanted[i] = std::max(wanted[i], above + kLineOfText);
    above = wanted[i];
  }
  double below = kHeight - kBottom + kLineOfText;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    wanted[*i] = std::min(wanted[*i], below - kLineOfText);
    below = wanted[*i];
  }
  return wanted;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

double tick_step(double range, int ticks) {
  const double raw = range / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

std::string to_svg(const LineChart& chart) {
  const Frame frame(chart.x, chart.y);
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>)",
                  kWidth, kHeight, html_escaped(chart.title), html_escaped(chart.title));
  svg += axes(chart, frame);
  auto out = std::back_inserter(svg);
  if (!chart.limit.empty()) {
    fmt::format_to(out, R"(<path class="limit" d="{}"><title>{}</title></path>)",
                   path_of(frame, chart.limit), html_escaped(chart.limit_name));
  }
  const auto heights = label_heights(chart, frame);
  for (std::size_t i = chart.series.size();
       i-- > 0;) {  // the first one is drawn last, on top of the others
    const Series& series = chart.series[i];
    if (series.points.empty()) continue;
    const std::string name = html_escaped(series.name);
    const std::size_t colour = i % kSeriesColours;
    const char* dashes = i < kSeriesColours ? "" : R"( stroke-dasharray="7 4")";
    fmt::format_to(out, R"(<path class="line a{}"{} d="{}"><title>{}</title></path>)", colour,
                   dashes, path_of(frame, series.points), name);
    fmt::format_to(out, R"(<text class="name a{}" x="{:.1f}" y="{:.1f}">{}</text>)", colour,
                   frame.x(series.points.back().x) + 8, heights[i] + 4, name);
  }
  return svg + "</svg>\n";
}

std::string to_svg(const BarChart& chart) {
  const double height = kBarPitch * static_cast<double>(chart.bars.size()) + 8;
  const double room = kWidth - kBarNames - kBarValues;
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>)",
                  kWidth, height, html_escaped(chart.title), html_escaped(chart.title));
  auto out = std::back_inserter(svg);
  const char family = chart.colours == BarChart::Colours::series ? 'a' : 'b';
  double top = 4;
  for (const Bar& bar : chart.bars) {
    const double middle = top + kBarHeight / 2 + 5;
    fmt::format_to(out, R"(<text class="bar" x="{}" y="{}" text-anchor="end">{}</text>)",
                   kBarNames - 10, middle, html_escaped(bar.name));
    double x = kBarNames;
    for (std::size_t part = 0; part < bar.parts.size(); ++part) {
      const double width = chart.max > 0 ? bar.parts[part] / chart.max * room : 0;
      const std::string what =
          part < chart.parts.size() ? html_escaped(chart.parts[part]) + " " : "";
      fmt::format_to(out,
                     R"(<rect class="{}{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}">)"
                     R"(<title>{}: {}{:g}</title></rect>)",
                     family, (bar.colour + part) % kSeriesColours, x, top, width, kBarHeight,
                     html_escaped(bar.name), what, std::round(bar.parts[part] * 100) / 100);
      x += width;
    }
    fmt::format_to(out, R"(<text class="bar" x="{:.1f}" y="{}">{}</text>)", x + 8, middle,
                   html_escaped(bar.value));
    top += kBarPitch;
  }
  return svg + "</svg>\n";
}

}  // namespace stowage::sim
