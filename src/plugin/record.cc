#include "plugin/record.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/keyed_hash.h"
#include "codec/json_in.h"

namespace stowage::plugin {
namespace {

using base::JsonWriter;
using codec::JsonValue;

constexpr std::size_t kChecksumDigits = 16;
constexpr std::size_t kNameMax = 63;

// Against damage, not against forgery: only root writes the file.
std::string checksum(std::string_view json) {
  return fmt::format("{:016x}", base::keyed_hash(base::HashKey{}, json));
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write(JsonWriter& json, const Allocated& change) {
  json.key("allocated").value(change.record.name).key("resource").value(change.record.resource);
  write_texts(json, "ids", change.record.ids);
  json.key("at").value(change.record.allocated_unix);
}

void write(JsonWriter& json, const Given& change) {
  json.key("given").value(change.name).key("uid").value(change.cards.pod_uid);
  json.key("namespace").value(change.cards.ns).key("pod").value(change.cards.pod);
  json.key("container").value(change.cards.container);
  write_texts(json, "cards", change.cards.cards);
  json.key("shares").begin_array();
  for (const mps::Share& share : change.cards.shares) {
    json.value(share.milli).value(share.memory_mib);
  }
  json.end_array();
  json.key("decided").value(change.cards.decided_nanos);
}

void write(JsonWriter& json, const Dropped& change) { json.key("dropped").value(change.name); }

Status read_texts(JsonValue& value, std::vector<std::string>& texts) {
  return codec::each_element(
      value, [&](JsonValue& each) { return codec::read(each, texts.emplace_back()); });
}

// Milli and MiB by turns.
Status read_shares(JsonValue& value, std::vector<mps::Share>& shares) {
  bool milli = false;
  return codec::each_element(value, [&](JsonValue& each) {
    milli = !milli;
    if (milli) shares.emplace_back();
    return codec::read(each, milli ? shares.back().milli : shares.back().memory_mib);
  });
}

// The fields of all kinds of lines.
struct Fields {
  std::string allocated;
  std::string given;
  std::string dropped;
  Record record;
  GivenCards cards;

  Status take(std::string_view key, JsonValue& value) {
    if (key == "allocated") return codec::read(value, allocated);
    if (key == "given") return codec::read(value, given);
    if (key == "dropped") return codec::read(value, dropped);
    if (key == "resource") return codec::read(value, record.resource);
    if (key == "ids") return read_texts(value, record.ids);
    if (key == "at") return codec::read(value, record.allocated_unix);
    if (key == "uid") return codec::read(value, cards.pod_uid);
    if (key == "namespace") return codec::read(value, cards.ns);
    if (key == "pod") return codec::read(value, cards.pod);
    if (key == "container") return codec::read(value, cards.container);
    if (key == "cards") return read_texts(value, cards.cards);
    if (key == "shares") return read_shares(value, cards.shares);
    if (key == "decided") return codec::read(value, cards.decided_nanos);
    return {};  // of a newer version
  }

  Result<RecordChange> change() && {
    if (is_cdi_name(allocated)) {
      record.name = std::move(allocated);
      return RecordChange(Allocated{std::move(record)});
    }
    if (is_cdi_name(given)) return RecordChange(Given{std::move(given), std::move(cards)});
    if (is_cdi_name(dropped)) return RecordChange(Dropped{std::move(dropped)});
    return fail("it names no CDI device");
  }
};

}  // namespace

std::string to_line(const RecordChange& change) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  std::visit([&](const auto& each) { write(json, each); }, change);
  json.end_object();
  return record_line(json.take());
}

std::string record_line(std::string_view text) {
  return fmt::format("{} {}\n", checksum(text), text);
}

Result<RecordChange> parse_record_line(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.size() <= kChecksumDigits || line[kChecksumDigits] != ' ') return fail("it is cut off");
  const std::string_view text = line.substr(kChecksumDigits + 1);
  if (line.substr(0, kChecksumDigits) != checksum(text)) return fail("its checksum is wrong");
  codec::JsonText parser;
  STOWAGE_TRY(fields, parser.open(text, kRecordLineMax));
  Fields read;
  STOWAGE_TRY_VOID(codec::each_field(
      fields, [&](std::string_view key, JsonValue& value) { return read.take(key, value); }));
  STOWAGE_TRY_VOID(parser.close());
  return std::move(read).change();
}

std::string qualified_name(std::string_view name) { return fmt::format("{}={}", kCdiKind, name); }

std::string_view own_name(std::string_view qualified) {
  const bool ours = qualified.starts_with(kCdiKind) && qualified.size() > kCdiKind.size() &&
                    qualified[kCdiKind.size()] == '=';
  const std::string_view name = ours ? qualified.substr(kCdiKind.size() + 1) : std::string_view();
  return is_cdi_name(name) ? name : std::string_view();
}

bool is_cdi_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && name.size() <= kNameMax && plain(name.front()) && plain(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return plain(c) || c == '-' || c == '.'; });
}

}  // namespace stowage::plugin
