#include "sim/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "sim/chart.h"
#include "sim/report_style.h"
#include "sim/summary.h"
#include "sim/text.h"

namespace stowage::sim {
namespace {

constexpr std::array<const char*, kPodKinds> kKindNames{"no GPU (CPU only)", "a share of one GPU",
                                                        "one whole GPU", "several GPUs"};

std::string rounded(double number) { return grouped(std::llround(number)); }

std::string percent(std::optional<double> value) {
  return value ? fmt::format("{:.2f} %", *value) : "–";
}

// The demand at which policies are compared: equal to the cluster, or the largest that was reached.
int compared_at(const std::vector<Summary>& summaries) {
  int last = 100;
  for (const Summary& s : summaries) last = std::min(last, static_cast<int>(s.curve.size()) - 1);
  while (last > 0 && !std::all_of(summaries.begin(), summaries.end(),
                                  [&](const Summary& s) { return s.at(last).has_value(); })) {
    --last;
  }
  return std::max(last, 0);
}

// GPUs that were requested but not allocated.
double wasted(const Summary& summary, int at, std::int64_t cards) {
  return (at - summary.at(at).value_or(at)) / 100 * static_cast<double>(cards);
}

std::string runs_text(const Experiment& experiment, const std::vector<Summary>& summaries) {
  const std::size_t runs = summaries.front().runs;
  if (runs == 1) return fmt::format("One run for each policy, seed {}.", experiment.runs[0].seed);
  return fmt::format("Every number is the mean of {} runs, each with its own random order.", runs);
}

std::string finding(const Experiment& experiment, const std::vector<Summary>& summaries) {
  const int at = compared_at(summaries);
  const auto less = [&](const Summary& a, const Summary& b) {
    return wasted(a, at, experiment.cards) < wasted(b, at, experiment.cards);
  };
  const Summary& best = *std::min_element(summaries.begin(), summaries.end(), less);
  const Summary& worst = *std::max_element(summaries.begin(), summaries.end(), less);
  const double least = wasted(best, at, experiment.cards);
  std::string text = fmt::format(
      "<p class=\"finding\">Once pods have asked for {} of the cluster's {} GPUs, "
      "<strong>{}</strong> leaves <strong>{} GPUs</strong> of that demand unserved",
      rounded(at / 100.0 * static_cast<double>(experiment.cards)), grouped(experiment.cards),
      html_escaped(best.policy), rounded(least));
  const double more = wasted(worst, at, experiment.cards) - least;
  if (&best != &worst && std::llround(more) > 0) {
    text += fmt::format("; <strong>{}</strong> leaves {}, that is {} GPUs more",
                        html_escaped(worst.policy), rounded(least + more), rounded(more));
  }
  return text + ".</p>\n";
}

std::string replay_intro(const Experiment& experiment, const std::vector<Summary>& summaries) {
  std::string html = "<h1>How many GPUs does a scheduler waste?</h1>\n";
  auto out = std::back_inserter(html);
  fmt::format_to(out,
                 "<p>A simulated cluster of {} nodes with {} GPUs receives about {} pods, one "
                 "after another. They have all sizes: no GPU, a share of a GPU, a whole one, or "
                 "several at once. No pod leaves, so the cluster fills up. A <em>policy</em> "
                 "decides which node and which GPU each pod gets. All policies see the same pods "
                 "in the same order; only that decision differs.</p>\n"
                 "<p class=\"soft\">Trace: {}. {}</p>\n",
                 grouped(experiment.nodes), grouped(experiment.cards),
                 rounded(summaries.front().arrived), html_escaped(experiment.source),
                 runs_text(experiment, summaries));
  html += finding(experiment, summaries);
  html +=
      "<h2>The words on this page</h2>\n"
      "<dl>\n"
      "<dt>arrived</dt><dd>GPU demand of all pods so far, placed or not, in percent of the "
      "cluster's GPUs. At 100 % the pods together ask for exactly what the cluster has.</dd>\n"
      "<dt>allocated</dt><dd>GPU demand of the pods that were placed, in percent of the cluster's "
      "GPUs. The rest is idle.</dd>\n"
      "<dt>refused</dt><dd>a pod that fits no node. It may be small: free GPUs do not help when "
      "they are scattered in shares that are too small, or are in nodes whose CPU is used up. Such "
      "shares are the waste that a good policy avoids.</dd>\n"
      "</dl>\n";
  if (experiment.memory != MemoryShare::none) {
    html +=
        "<p>In this experiment pods also ask for GPU memory. A pod counts with the larger one of "
        "its two parts of a GPU: compute or memory.</p>\n";
  }
  return html;
}

std::string replay_table(const Experiment& experiment, const std::vector<Summary>& summaries) {
  const int at = compared_at(summaries);
  std::string html = fmt::format(
      "<h2>Results</h2>\n<div class=\"wide\"><table>\n<tr><th>policy</th>"
      "<th>unserved GPUs<br>at {} % arrived</th>",
      at);
  auto out = std::back_inserter(html);
  for (const int point : kPoints) {
    fmt::format_to(out, "<th>allocated at<br>{} % arrived</th>", point);
  }
  html += "<th>pods placed</th><th>pods refused</th></tr>\n";
  for (const Summary& s : summaries) {
    fmt::format_to(out, "<tr><td>{}</td><td>{}</td>", html_escaped(s.policy),
                   rounded(wasted(s, at, experiment.cards)));
    for (const int point : kPoints) fmt::format_to(out, "<td>{}</td>", percent(s.at(point)));
    fmt::format_to(out, "<td>{}</td><td>{}</td></tr>\n", rounded(s.placed),
                   rounded(s.arrived - s.placed));
  }
  return html + "</table></div>\n";
}

LineChart curve_chart(const std::vector<Summary>& summaries, double from) {
  LineChart chart;
  double last = from + 1;
  double lowest = 100;
  for (const Summary& s : summaries) {
    Series series{s.policy, {}};
    for (std::size_t p = 0; p < s.curve.size(); ++p) {
      const auto x = static_cast<double>(p);
      if (!s.curve[p] || x < from) continue;
      series.points.push_back({x, *s.curve[p]});
      lowest = std::min(lowest, *s.curve[p]);
      last = std::max(last, x);
    }
    chart.series.push_back(std::move(series));
  }
  chart.x = {from, last, tick_step(last - from, 8), "arrived: GPU demand of all pods so far"};
  const double bottom = from > 0 ? std::floor(lowest) : 0;
  chart.y = {bottom, 100, tick_step(100 - bottom, 6), "allocated GPUs"};
  // Ticks start at the bottom, so the bottom must be a tick.
  chart.y.min = std::floor(bottom / chart.y.step) * chart.y.step;
  chart.x.min = std::floor(from / chart.x.step) * chart.x.step;
  chart.limit = {{std::max(chart.x.min, chart.y.min), std::max(chart.x.min, chart.y.min)},
                 {std::min(100.0, last), std::min(100.0, last)}};
  if (last > 100) chart.limit.push_back({last, 100});
  chart.limit_name = "all demand that arrived, up to the size of the cluster";
  return chart;
}

std::string replay_charts(const std::vector<Summary>& summaries) {
  std::string html = "<h2>How the cluster fills up</h2>\n<figure>\n";
  LineChart whole = curve_chart(summaries, 0);
  whole.title = "Allocated GPUs against arrived demand, one line for each policy";
  html += to_svg(whole);
  html +=
      "<figcaption>On the dashed line every pod that arrived is placed. A policy's curve leaves "
      "the line when the first pods are refused: the later and the less, the better.</figcaption>\n"
      "</figure>\n";
  constexpr double kCloseFrom = 80;
  const double last = whole.x.max;
  if (last < kCloseFrom + 10) return html;
  LineChart close = curve_chart(summaries, kCloseFrom);
  close.title = "The same curves where they differ";
  html +=
      "<h2>The same, where the policies differ</h2>\n"
      "<figure>\n" +
      to_svg(close);
  html +=
      "<figcaption>The end of the curves, enlarged. At the right edge the cluster is full for "
      "practical purposes: what is missing to 100 % are GPUs that no pod can use.</figcaption>\n"
      "</figure>\n";
  return html;
}

std::string kind_keys() {
  std::string html = "<div class=\"keys\">";
  for (std::size_t kind = 0; kind < kPodKinds; ++kind) {
    html += fmt::format("<span><span class=\"key b{}\"></span>{}</span>", kind, kKindNames[kind]);
  }
  return html + "</div>\n";
}

std::string refused_chart(const std::vector<Summary>& summaries, const std::string& caption) {
  BarChart chart;
  chart.title = "Refused pods by kind, one bar for each policy";
  chart.parts.assign(kKindNames.begin(), kKindNames.end());
  double most = 0;
  for (const Summary& s : summaries) {
    const std::string name = s.load ? fmt::format("{}, load {:g}", s.policy, *s.load) : s.policy;
    Bar bar{.name = name, .parts = {s.refused.begin(), s.refused.end()}, .value = "", .colour = 0};
    double sum = 0;
    for (const double part : bar.parts) sum += part;
    bar.value = rounded(sum) + " pods";
    most = std::max(most, sum);
    chart.bars.push_back(std::move(bar));
  }
  chart.max = most;
  return kind_keys() + "<figure>\n" + to_svg(chart) + "<figcaption>" + caption +
         "</figcaption>\n</figure>\n";
}

std::string replay_body(const Experiment& experiment, const std::vector<Summary>& summaries) {
  return replay_intro(experiment, summaries) + replay_table(experiment, summaries) +
         replay_charts(summaries) + "<h2>Refused pods</h2>\n" +
         refused_chart(summaries,
                       "All pods refused until the end of the run, by what they asked for. A "
                       "policy can trade one kind for another: many small pods, or few large "
                       "ones.");
}

std::string churn_intro(const Experiment& experiment, const std::vector<Summary>& summaries) {
  const bool queue = experiment.churn.admission == ChurnConfig::Admission::queue;
  std::string html = "<h1>How well does a scheduler keep a busy cluster full?</h1>\n";
  fmt::format_to(
      std::back_inserter(html),
      "<p>Pods arrive at a simulated cluster of {} nodes with {} GPUs at random, stay for a random "
      "time and leave. A <em>policy</em> decides which node and which GPU each pod gets. All "
      "policies see the same pods at the same times. {}</p>\n"
      "<p class=\"soft\">Trace: {}. Measured from {:g} to {:g} mean lifetimes. {}</p>\n"
      "<h2>The words on this page</h2>\n"
      "<dl>\n"
      "<dt>load</dt><dd>how much GPU time pods ask for, compared with what the cluster has: at 1 "
      "they ask for all of it, so some are not placed.</dd>\n"
      "<dt>allocated</dt><dd>GPUs in use, in percent of the cluster, on average over time.</dd>\n"
      "<dt>accepted</dt><dd>pods that were placed, in percent of those that arrived: by the GPUs "
      "they ask for, for pods that need several GPUs at once, and for all pods.</dd>\n"
      "</dl>\n",
      grouped(experiment.nodes), grouped(experiment.cards),
      queue ? "A pod that does not fit waits until it does."
            : "A pod that does not fit when it arrives is lost.",
      html_escaped(experiment.source), experiment.churn.warmup, experiment.churn.lifetimes,
      runs_text(experiment, summaries));
  return html;
}

std::string churn_table(const Experiment& experiment, const std::vector<Summary>& summaries) {
  const bool queue = experiment.churn.admission == ChurnConfig::Admission::queue;
  std::string html =
      "<h2>Results</h2>\n<div class=\"wide\"><table>\n<tr><th>policy</th><th>load</th>"
      "<th>GPUs in use<br>(mean)</th><th>allocated</th><th>accepted,<br>by GPUs</th>"
      "<th>accepted,<br>several GPUs</th><th>accepted,<br>all pods</th>";
  if (queue) {
    html +=
        "<th>mean wait</th><th>99 % wait<br>less than</th><th>mean wait,<br>several GPUs</th>"
        "<th>waiting<br>pods</th>";
  }
  html += "</tr>\n";
  auto out = std::back_inserter(html);
  for (const Summary& s : summaries) {
    const double used =
        s.allocated_percent_mean.value_or(0) / 100 * static_cast<double>(experiment.cards);
    fmt::format_to(out,
                   "<tr><td>{}</td><td>{:g}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
                   "<td>{}</td>",
                   html_escaped(s.policy), s.load.value_or(0), rounded(used),
                   percent(s.allocated_percent_mean), percent(s.accepted_gpu_percent),
                   percent(s.accepted_multi_percent), percent(s.accepted_percent));
    if (queue) {
      fmt::format_to(out, "<td>{:.4f}</td><td>{:.4f}</td><td>{:.4f}</td><td>{:.1f}</td>", s.wait,
                     s.wait_p99, s.wait_multi, s.queue_length);
    }
    html += "</tr>\n";
  }
  html += "</table></div>\n";
  if (queue) html += "<p class=\"soft\">Waits are in mean lifetimes of a pod.</p>\n";
  return html;
}

using Member = std::optional<double> Summary::*;

// One bar for each policy and load; a policy keeps its colour.
std::string accepted_chart(const std::vector<Summary>& summaries, const std::string& title,
                           Member member) {
  BarChart chart;
  chart.title = title;
  chart.max = 100;
  chart.colours = BarChart::Colours::series;
  std::vector<std::string> policies;
  for (const Summary& s : summaries) {
    auto at = std::find(policies.begin(), policies.end(), s.policy);
    if (at == policies.end()) at = policies.insert(at, s.policy);
    chart.bars.push_back({.name = fmt::format("{}, load {:g}", s.policy, s.load.value_or(0)),
                          .parts = {(s.*member).value_or(0)},
                          .value = percent(s.*member),
                          .colour = static_cast<std::size_t>(at - policies.begin())});
  }
  return "<figure>\n" + to_svg(chart) + "</figure>\n";
}

std::string churn_body(const Experiment& experiment, const std::vector<Summary>& summaries) {
  return churn_intro(experiment, summaries) + churn_table(experiment, summaries) +
         "<h2>Accepted GPU demand, by policy and load</h2>\n" +
         accepted_chart(summaries, "Accepted GPU demand in percent",
                        &Summary::accepted_gpu_percent) +
         "<h2>Accepted pods that need several GPUs</h2>\n" +
         accepted_chart(summaries, "Accepted pods with several GPUs in percent",
                        &Summary::accepted_multi_percent) +
         "<h2>Pods that were not placed</h2>\n" +
         refused_chart(summaries, "Pods that arrived during the measurement and were not placed.");
}

}  // namespace

std::string render_report(const Experiment& experiment) {
  const auto summaries = summarise(experiment);
  const bool churned = summaries.front().load.has_value();
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Stowage simulation</title>\n<style>{}</style>\n</head>\n<body>\n{}"
      "<footer>Made by <code>stowage sim</code>.</footer>\n</body>\n</html>\n",
      kReportStyle,
      churned ? churn_body(experiment, summaries) : replay_body(experiment, summaries));
}

Status prepare_report(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(fmt::format("cannot create the folder {}: {}", folder, error.message()));
  }
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(fmt::format("cannot write a report to {}: it is not a folder", folder));
  }
  // Writing an empty page now is the only reliable test that a full one can be written later.
  const std::filesystem::path page = std::filesystem::path(folder) / "index.html";
  if (std::filesystem::exists(page, error)) return {};
  STOWAGE_TRY_VOID(base::write_file(page.string(), ""));
  std::filesystem::remove(page, error);
  return {};
}

Result<std::string> write_report(const std::string& folder, const Experiment& experiment) {
  const std::string page = (std::filesystem::path(folder) / "index.html").string();
  STOWAGE_TRY_VOID(base::write_file(page, render_report(experiment)));
  return page;
}

}  // namespace stowage::sim
