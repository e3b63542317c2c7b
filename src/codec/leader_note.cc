#include "codec/leader_note.h"

#include "base/json_writer.h"
#include "codec/fields.h"

namespace stowage::codec {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxNoteBytes = std::size_t{64} << 10U;

}  // namespace

std::string leader_note(const LeaderNote& note) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object().key("version").value(kVersion);
  json.key("extenders").begin_object();
  for (const auto& [name, url] : note.extenders) json.key(name).value(url);
  json.end_object();
  if (!note.agents.empty()) json.key("agents").value(note.agents);
  json.end_object();
  return json.take();
}

Result<LeaderNote> read_leader_note(std::string_view json) {
  JsonText text;
  LeaderNote note;
  std::int64_t version = 0;
  STOWAGE_TRY(fields, text.open(json, kMaxNoteBytes));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "extenders") return read_texts(value, note.extenders);
    if (key == "agents") return read(value, note.agents);
    if (key != "version") return {};
    STOWAGE_TRY_ASSIGN(version, value.integer());
    return {};
  }));
  STOWAGE_TRY_VOID(text.close());
  if (version != kVersion) return fail("version: only 1 is supported");
  return note;
}

}  // namespace stowage::codec
