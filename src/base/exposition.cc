#include "base/exposition.h"

#include <fmt/format.h>

namespace stowage::base {
namespace {

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

const char* word(Exposition::Type type) {
  switch (type) {
    case Exposition::Type::counter: return "counter";
    case Exposition::Type::histogram: return "histogram";
    case Exposition::Type::gauge: break;
  }
  return "gauge";
}

}  // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, word(type));
}

void Exposition::sample_text(std::string_view value, const Labels& labels,
                             std::string_view suffix) {
  out_ += name_;
  out_ += suffix;
  const char* separator = "{";
  for (const auto& [key, text] : labels) {
    out_ += fmt::format("{}{}=\"{}\"", separator, key, escaped(text));
    separator = ",";
  }
  if (!labels.empty()) out_ += '}';
  out_ += fmt::format(" {}\n", value);
}

void Exposition::sample(double value, const Labels& labels) {
  sample_text(fmt::format("{}", value), labels);
}

void Exposition::sample(std::uint64_t value, const Labels& labels) {
  sample_text(fmt::format("{}", value), labels);
}

void Exposition::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  family(name, Type::counter, help);
  sample(value);
}

void Exposition::gauge(std::string_view name, std::string_view help, double value) {
  family(name, Type::gauge, help);
  sample(value);
}

void Exposition::histogram(std::string_view name, std::string_view help,
                           const Distribution& values) {
  family(name, Type::histogram, help);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < values.bounds.size(); ++i) {
    count += values.counts[i];
    sample_text(fmt::format("{}", count), {{"le", fmt::format("{}", values.bounds[i])}}, "_bucket");
  }
  count += values.counts.back();
  sample_text(fmt::format("{}", count), {{"le", "+Inf"}}, "_bucket");
  sample_text(fmt::format("{}", values.sum), {}, "_sum");
  sample_text(fmt::format("{}", count), {}, "_count");
}

}  // namespace stowage::base
