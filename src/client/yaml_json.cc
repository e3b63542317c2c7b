#include "client/yaml_json.h"

#include <cstdint>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/json_writer.h"
#include "base/number.h"

namespace stowage::client {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && digit(text[end])) ++end;
  return end - from;
}

// A number in JSON notation, which has neither "+1" nor "007" nor ".5" nor "1.". Empty if the text
// is no decimal number.
std::string decimal(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  if (text[0] == '-' || text[0] == '+') at = 1;
  if (text[0] == '-') out = "-";
  const std::size_t whole = digits_at(text, at);
  std::string_view units = text.substr(at, whole);
  at += whole;
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    fraction = text.substr(at + 1, digits_at(text, at + 1));
    at += 1 + fraction.size();
  }
  if (units.empty() && fraction.empty()) return {};
  std::string_view power;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t start = at + 1;
    if (start < text.size() && (text[start] == '-' || text[start] == '+')) ++start;
    const std::size_t size = digits_at(text, start);
    if (size == 0) return {};
    power = text.substr(at, start + size - at);
    at = start + size;
  }
  if (at != text.size()) return {};
  while (units.size() > 1 && units.front() == '0') units.remove_prefix(1);
  out += units.empty() ? "0" : units;
  if (!fraction.empty()) out += fmt::format(".{}", fraction);
  out += power;
  return out;
}

// 0x1f and 0o17. Empty if it is neither or too large.
std::string other_base(std::string_view text) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'o')) return {};
  const auto number = base::parse_number<std::uint64_t>(text.substr(2), text[1] == 'x' ? 16 : 8);
  return number ? std::to_string(*number) : std::string();
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", base::json_escaped(text));
}

}  // namespace

std::string plain_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return "null";
  }
  if (text == "true" || text == "True" || text == "TRUE") return "true";
  if (text == "false" || text == "False" || text == "FALSE") return "false";
  const char first = text[0];
  if (!digit(first) && first != '-' && first != '+' && first != '.') return quoted(text);
  std::string number = other_base(text);
  if (number.empty()) number = decimal(text);
  return number.empty() ? quoted(text) : number;
}

namespace {

// Reads the text without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    // The interface needs a mutable pointer, but never writes.
    char* begin = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    setg(begin, begin, begin + text.size());
  }
};

// Writes JSON while the parser walks over one document. After an error events are ignored.
class JsonSink : public YAML::EventHandler {
 public:
  JsonSink(const YamlRequest& ask, std::size_t used) : ask_(ask), used_(used) {}

  void OnDocumentStart(const YAML::Mark& mark) override { begins_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    scalar(mark, anchor, "null", "null");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool text = tag == "!" || tag == "tag:yaml.org,2002:str" ||
                      tag == "tag:yaml.org,2002:binary" || tag == "tag:yaml.org,2002:timestamp";
    const bool plain = tag == "?" || tag.empty() || tag == "tag:yaml.org,2002:int" ||
                       tag == "tag:yaml.org,2002:float" || tag == "tag:yaml.org,2002:bool" ||
                       tag == "tag:yaml.org,2002:null";
    if (!text && !plain) return wrong(mark, fmt::format("the tag {} is not supported", tag));
    if (is_key() && plain && value == "<<") {
      return wrong(mark, "merge keys (<<) are not supported; write the fields out");
    }
    scalar(mark, anchor, value, text ? quoted(value) : plain_scalar(value));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      return wrong(mark, "an alias refers to an anchor that contains it");
    if (is_key()) return wrong(mark, "an alias as a key is not supported; write the key out");
    if (!before_value(mark)) return;
    const auto [from, size] = found->second;
    if (!room(mark, size)) return;
    document_.json.append(std::string(document_.json, from, size));
    after_value();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor, '[');
  }
  void OnSequenceEnd() override { end(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor, '{');
  }
  void OnMapEnd() override { end('}'); }

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] YamlDocument take() { return std::move(document_); }
  [[nodiscard]] const YAML::Mark& begins() const { return begins_; }

 private:
  YAML::Mark begins_;
  struct Level {
    char bracket = '{';
    bool empty = true;
    bool expects_key = true;
    std::size_t from = 0;
    YAML::anchor_t anchor = 0;
  };

  [[nodiscard]] bool is_key() const {
    return !levels_.empty() && levels_.back().bracket == '{' && levels_.back().expects_key;
  }

  void wrong(const YAML::Mark& mark, std::string_view why) {
    if (error_.empty()) error_ = fmt::format("line {}: {}", mark.line + 1, why);
  }

  [[nodiscard]] bool room(const YAML::Mark& mark, std::size_t size) {
    if (!error_.empty()) return false;
    if (used_ + document_.json.size() + size <= ask_.limits.max_json_bytes) return true;
    wrong(mark, fmt::format("it expands to more than {} MiB; split the file, or use fewer aliases",
                            ask_.limits.max_json_bytes >> 20U));
    return false;
  }

  [[nodiscard]] bool before_value(const YAML::Mark& mark) {
    if (!error_.empty()) return false;
    if (document_.line == 0) document_.line = static_cast<std::size_t>(mark.line) + 1;
    if ((++events_ & 0xfffU) == 0 && ask_.on_progress) {
      ask_.on_progress(static_cast<double>(mark.pos) / static_cast<double>(ask_.text.size()));
    }
    if (levels_.empty()) return true;
    Level& level = levels_.back();
    if (level.bracket == '[' || level.expects_key) {
      if (!level.empty) document_.json += ',';
      level.empty = false;
    }
    if (levels_.size() == 2 && level.bracket == '[' && in_items_) {
      document_.item_lines.push_back(static_cast<std::size_t>(mark.line) + 1);
    }
    return true;
  }

  void after_value() {
    if (!levels_.empty() && levels_.back().bracket == '{') levels_.back().expects_key = true;
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& raw,
              const std::string& json) {
    const bool key = is_key();
    if (!before_value(mark) || !room(mark, json.size() + raw.size())) return;
    if (key) {
      if (levels_.size() == 1) in_items_ = raw == "items";
      document_.json += quoted(raw);
      document_.json += ':';
      levels_.back().expects_key = false;
      return;
    }
    if (anchor != 0) anchors_[anchor] = {document_.json.size(), json.size()};
    document_.json += json;
    after_value();
  }

  void begin(const YAML::Mark& mark, YAML::anchor_t anchor, char bracket) {
    if (is_key()) return wrong(mark, "a key is a list or a mapping; keys must be strings");
    if (levels_.size() >= ask_.limits.max_depth) {
      return wrong(mark, fmt::format("more than {} levels deep", ask_.limits.max_depth));
    }
    if (!before_value(mark) || !room(mark, 2)) return;
    levels_.push_back({.bracket = bracket, .from = document_.json.size(), .anchor = anchor});
    document_.json += bracket;
  }

  void end(char bracket) {
    if (!error_.empty() || levels_.empty()) return;
    const Level level = levels_.back();
    levels_.pop_back();
    document_.json += bracket;
    if (level.anchor != 0)
      anchors_[level.anchor] = {level.from, document_.json.size() - level.from};
    after_value();
  }

  const YamlRequest& ask_;
  std::size_t used_;  // by earlier documents
  YamlDocument document_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, std::pair<std::size_t, std::size_t>> anchors_;  // position and length in
                                                                           // the output
  std::string error_;
  std::uint64_t events_ = 0;
  bool in_items_ = false;
};

}  // namespace

Result<std::vector<YamlDocument>> yaml_to_json(const YamlRequest& ask) {
  std::vector<YamlDocument> documents;
  ViewBuffer buffer(ask.text);
  std::istream stream(&buffer);
  std::size_t used = 0;
  std::size_t number = 0;
  const auto wrong = [&](const std::string& why) {
    return fail(fmt::format("{}: document {}, {}", ask.file, number, why));
  };
  try {
    YAML::Parser parser(stream);
    int last = -1;
    for (;;) {
      ++number;
      JsonSink sink(ask, used);
      if (!parser.HandleNextDocument(sink)) break;
      if (!sink.error().empty()) return wrong(sink.error());
      // On some stray characters the parser would stay at its position for ever.
      if (sink.begins().pos == last) {
        return wrong(fmt::format("line {}: unexpected character", sink.begins().line + 1));
      }
      last = sink.begins().pos;
      YamlDocument document = sink.take();
      document.number = number;
      used += document.json.size();
      if (document.json != "null" && !document.json.empty())
        documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    if (e.mark.is_null()) return wrong(e.msg);
    return wrong(fmt::format("line {}: {}", e.mark.line + 1, e.msg));
  } catch (const std::exception& e) {
    return wrong(e.what());
  }
  return documents;
}

}  // namespace stowage::client
