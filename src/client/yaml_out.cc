#include "client/yaml_out.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_writer.h"
#include "client/yaml_json.h"

namespace stowage::client {
namespace {

constexpr std::size_t kColumns = 98;

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", base::json_escaped(text));
}

bool plain_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-' || c == ':';
}

std::string flow(const Tree& tree) {
  std::string out;
  switch (tree.kind) {
    case Tree::Kind::object:
      for (const auto& [key, value] : tree.fields) {
        out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", quoted(key), flow(value));
      }
      return "{" + out + "}";
    case Tree::Kind::array:
      for (const auto& element : tree.elements) out += (out.empty() ? "" : ", ") + flow(element);
      return "[" + out + "]";
    case Tree::Kind::text: return quoted(tree.scalar);
    case Tree::Kind::null: return "null";
    default: return tree.scalar;
  }
}

}  // namespace

std::string yaml_text(std::string_view text) {
  // Older parsers read these as true and false.
  constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off"};
  const bool word = std::any_of(std::begin(kWords), std::end(kWords),
                                [&](std::string_view w) { return same_key(w, text); });
  const bool plain = !text.empty() && !word && std::all_of(text.begin(), text.end(), plain_char) &&
                     text.front() != '-' && text.front() != ':' && text.back() != ':' &&
                     plain_scalar(text).starts_with('"');
  return plain ? std::string(text) : quoted(text);
}

void YamlOut::push(std::string_view key, std::size_t indent) {
  levels_.push_back({.key = std::string(key), .indent = indent});
}

YamlOut& YamlOut::open(std::string_view key) {
  push(key, indent() + 2);
  return *this;
}

YamlOut& YamlOut::open_list(std::string_view key) {
  push(key, indent());
  return *this;
}

YamlOut& YamlOut::item() {
  push("", indent() + 2);
  return *this;
}

YamlOut& YamlOut::close() {
  STOWAGE_CHECK(!levels_.empty());
  levels_.pop_back();
  return *this;
}

void YamlOut::begin_parents() {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    if (std::exchange(level.written, true)) continue;
    if (level.key.empty()) {
      dash_ = true;
      continue;
    }
    const std::size_t at = i == 0 ? 0 : levels_[i - 1].indent;
    out_ += dash_ ? std::string(at - 2, ' ') + "- " : std::string(at, ' ');
    out_ += level.key + ":\n";
    dash_ = false;
  }
}

void YamlOut::line(std::string_view text) {
  begin_parents();
  const std::size_t at = indent();
  out_ += dash_ ? std::string(at - 2, ' ') + "- " : std::string(at, ' ');
  dash_ = false;
  out_ += text;
  out_ += '\n';
}

YamlOut& YamlOut::comment(std::string_view words) {
  std::size_t at = 0;
  for (const Level& level : levels_) {
    if (level.written) at = level.indent;
  }
  // A comment must not leave its line, whatever text the file had as a name.
  std::string text(words);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  std::string_view rest = text;
  std::string current;
  const auto end_line = [&] {
    out_ += std::string(at, ' ') + "#" + current + "\n";
    current.clear();
  };
  while (!rest.empty()) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    if (!current.empty() && at + current.size() + 2 + blank > kColumns) end_line();
    current += ' ';
    current += rest.substr(0, blank);
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  end_line();
  return *this;
}

YamlOut& YamlOut::field(std::string_view key, std::string_view text) {
  return raw(key, yaml_text(text));
}

YamlOut& YamlOut::raw(std::string_view key, std::string_view value) {
  line(fmt::format("{}: {}", yaml_text(key), value));
  return *this;
}

YamlOut& YamlOut::tree(std::string_view key, const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::text: return field(key, tree.scalar);
    case Tree::Kind::object: {
      if (tree.fields.empty()) return raw(key, "{}");
      open(yaml_text(key));
      for (const auto& [name, value] : tree.fields) this->tree(name, value);
      return close();
    }
    case Tree::Kind::array: {
      if (tree.elements.empty()) return raw(key, "[]");
      open_list(yaml_text(key));
      for (const Tree& element : tree.elements) {
        if (element.is(Tree::Kind::object) && !element.fields.empty()) {
          item();
          for (const auto& [name, value] : element.fields) this->tree(name, value);
          close();
        } else {
          line("- " + flow(element));
        }
      }
      return close();
    }
    default: return raw(key, flow(tree));
  }
}

std::string YamlOut::take() {
  STOWAGE_CHECK(levels_.empty());
  return std::exchange(out_, {});
}

}  // namespace stowage::client
