#include "mps/card_state.h"

#include "base/json_writer.h"
#include "codec/json_in.h"

namespace stowage::mps {

std::string to_json(const CardState& state) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object();
  json.key("version").value(1);
  json.key("running").boolean(state.running);
  json.key("exclusive").boolean(state.exclusive);
  if (!state.error.empty()) json.key("error").value(state.error);
  json.key("written").value(state.written_unix);
  json.end_object();
  return json.take() + "\n";
}

Result<CardState> parse_card_state(std::string_view text) {
  constexpr std::size_t kBytesMax = 16'384;
  codec::JsonText json;
  STOWAGE_TRY(fields, json.open(text, kBytesMax));
  CardState state;
  while (true) {
    STOWAGE_TRY(more, fields.next());
    if (!more) return state;
    const std::string_view key = fields.key();
    if (key == "version") {
      STOWAGE_TRY(version, fields.value().integer());
      if (version != 1) return fields.value().wrong("expected 1");
    } else if (key == "running") {
      STOWAGE_TRY_ASSIGN(state.running, fields.value().boolean());
    } else if (key == "exclusive") {
      STOWAGE_TRY_ASSIGN(state.exclusive, fields.value().boolean());
    } else if (key == "error") {
      STOWAGE_TRY(error, fields.value().text());
      state.error = std::string(error);
    } else if (key == "written") {
      STOWAGE_TRY_ASSIGN(state.written_unix, fields.value().integer());
    }
  }
}

}  // namespace stowage::mps
