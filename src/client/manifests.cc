#include "client/manifests.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "codec/fields.h"
#include "codec/json_in.h"
#include "codec/kubernetes.h"

namespace stowage::client {
namespace {

bool blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_blank(std::string_view text, std::size_t at) {
  while (at < text.size() && blank(text[at])) ++at;
  return at;
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The end of the object that begins at `at`, found by counting brackets outside of strings; npos if
// there is none. The text between is validated by its reader.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return at + 1;
    }
  }
  return std::string_view::npos;
}

struct Head {
  std::string kind;
  bool has_items = false;
};

Result<Head> head_of(codec::JsonText& text, std::string_view json) {
  STOWAGE_TRY(fields, text.open(json, codec::kMaxListBytes));
  Head head;
  STOWAGE_TRY_VOID(
      codec::each_field(fields, [&](std::string_view key, codec::JsonValue& value) -> Status {
        if (key == "kind") return codec::read(value, head.kind);
        if (key == "items") head.has_items = value.kind() == codec::JsonValue::Kind::array;
        return {};
      }));
  STOWAGE_TRY_VOID(text.close());
  return head;
}

}  // namespace

bool looks_like_json(std::string_view text) {
  std::size_t at = skip_blank(text, 0);
  if (at >= text.size() || text[at] != '{') return false;
  at = skip_blank(text, at + 1);
  return at < text.size() && (text[at] == '"' || text[at] == '}');
}

std::string Manifest::place() const {
  std::string text = fmt::format("{}: document {}", file, document);
  if (line > 0) text += fmt::format(", line {}", line);
  return text;
}

Result<std::string> read_input(const std::string& file, std::size_t max_bytes) {
  auto text =
      file == "-" ? base::try_read_stream(stdin, max_bytes) : base::try_read_file(file, max_bytes);
  if (text) return std::move(*text);
  const base::FileError& error = text.error();
  if (error.kind == base::FileError::Kind::too_large) {
    return fail(fmt::format("{} has more than {} MiB; split it", file, max_bytes >> 20U));
  }
  const char* const what = error.kind == base::FileError::Kind::open ? "open" : "read";
  return fail(fmt::format("cannot {} {}: {}", what, file, std::strerror(error.code)));
}

Status Manifests::add(const Part& part, const std::string& file) {
  Manifest place{.json = part.json, .file = file, .document = part.document, .line = part.line};
  const auto wrong = [&](std::string_view why) {
    return fail(fmt::format("{}: {}", place.place(), why));
  };
  codec::JsonText text;
  auto head = head_of(text, part.json);
  if (!head) return wrong(head.error().message);
  if (head->kind.empty()) {
    return wrong("no kind; expected Kubernetes objects, e.g. the output of kubectl get -o yaml");
  }
  if (!head->has_items || !head->kind.ends_with("List")) {
    place.kind = std::move(head->kind);
    objects_.push_back(std::move(place));
    return {};
  }
  const std::string item_kind = head->kind.substr(0, head->kind.size() - 4);  // Pod for a PodList
  codec::Decoder decoder;
  auto list = decoder.list(part.json);
  if (!list) return wrong(list.error().message);
  std::size_t line = part.line;
  const char* counted = part.json.data();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::string_view item = list->items[i];
    if (part.item_lines == nullptr) {
      line += lines_in({counted, static_cast<std::size_t>(item.data() - counted)});
      counted = item.data();
    } else {
      line = i < part.item_lines->size() ? (*part.item_lines)[i] : 0;
    }
    place.line = line;
    place.json = item;
    head = head_of(text, item);
    if (!head) return wrong(head.error().message);
    place.kind = head->kind.empty() ? item_kind : head->kind;
    if (place.kind.empty()) return wrong("no kind");
    objects_.push_back(place);
  }
  return {};
}

Status Manifests::add_json(const std::string& file) {
  const std::string_view text = texts_.back();
  std::size_t at = skip_blank(text, 0);
  std::size_t line = 1 + lines_in(text.substr(0, at));
  for (std::size_t number = 1; at < text.size(); ++number) {
    const std::size_t end = text[at] == '{' ? end_of_object(text, at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      return fail(
          fmt::format("{}: document {}, line {}: {}", file, number, line,
                      text[at] == '{' ? "a bracket has no end" : "expected the { of an object"));
    }
    STOWAGE_TRY_VOID(
        add({.json = text.substr(at, end - at), .document = number, .line = line}, file));
    std::size_t next = skip_blank(text, end);
    // Documents may be separated as in YAML.
    if (text.substr(next).starts_with("---")) next = skip_blank(text, next + 3);
    line += lines_in(text.substr(at, next - at));
    at = next;
  }
  return {};
}

Status Manifests::add_yaml(const std::string& file, const OnProgress& on_progress) {
  auto documents =
      yaml_to_json({.text = texts_.back(), .file = file, .limits = {}, .on_progress = on_progress});
  if (!documents) return tl::unexpected(documents.error());
  texts_.pop_back();
  for (YamlDocument& document : *documents) {
    texts_.push_back(std::move(document.json));
    STOWAGE_TRY_VOID(add({.json = texts_.back(),
                          .document = document.number,
                          .line = document.line,
                          .item_lines = &document.item_lines},
                         file));
  }
  return {};
}

Result<Manifests> Manifests::parse(std::string text, const std::string& file,
                                   const OnProgress& on_progress) {
  if (text.size() > kMaxManifestBytes) {
    return fail(fmt::format("{} has more than {} MiB; split it", file, kMaxManifestBytes >> 20U));
  }
  Manifests out;
  const bool json = looks_like_json(text);
  out.texts_.push_back(std::move(text));
  STOWAGE_TRY_VOID(json ? out.add_json(file) : out.add_yaml(file, on_progress));
  return out;
}

Result<Manifests> Manifests::load(const std::string& file, const OnProgress& on_progress) {
  STOWAGE_TRY(text, read_input(file, kMaxManifestBytes));
  return parse(std::move(text), file == "-" ? "standard input" : file, on_progress);
}

}  // namespace stowage::client
