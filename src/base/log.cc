#include "base/log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/rfc3339.h"

namespace stowage::base {
namespace {

std::int64_t system_micros() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void to_standard_error(std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); }

bool plain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7F;
  });
}

void append_value(std::string& out, std::string_view value) {
  if (plain(value)) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

// A message may quote untrusted text, so it is kept on one line.
void append_message(std::string& out, std::string_view message) {
  for (const char c : message) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

constexpr const char* kLevels[] = {"debug", "info", "warn", "error"};

}  // namespace

const char* to_string(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

Result<LogLevel> parse_log_level(std::string_view word) {
  for (const auto level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    if (word == to_string(level)) return level;
  }
  return fail(fmt::format("unknown log level \"{}\": write debug, info, warn or error", word));
}

Result<LogFormat> parse_log_format(std::string_view word) {
  if (word == "text") return LogFormat::text;
  if (word == "json") return LogFormat::json;
  return fail(fmt::format("unknown log format \"{}\": write text or json", word));
}

Log::Log() : Log(Options{}) {}

Log::Log(Options options)
    : level_(options.level),
      format_(options.format),
      write_(options.write ? std::move(options.write) : to_standard_error),
      unix_micros_(options.unix_micros ? std::move(options.unix_micros) : system_micros) {}

void Log::line(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  const std::string time = format_rfc3339_micros(unix_micros_());
  std::string text;
  if (format_ == LogFormat::json) {
    JsonWriter json(JsonWriter::Style::compact);
    json.begin_object();
    json.key("time").value(time);
    json.key("level").value(to_string(level));
    json.key("message").value(message);
    for (const auto& field : fields) json.key(field.key).value(field.value);
    json.end_object();
    text = json.take();
  } else {
    text = fmt::format("{} {:<5} ", time, to_string(level));
    append_message(text, message);
    for (const auto& field : fields) {
      text += ' ';
      text += field.key;
      text += '=';
      append_value(text, field.value);
    }
  }
  text += '\n';
  const std::scoped_lock lock(mutex_);
  write_(text);
}

void Log::debug(std::string_view message, std::initializer_list<LogField> fields) {
  line(LogLevel::debug, message, fields);
}
void Log::info(std::string_view message, std::initializer_list<LogField> fields) {
  line(LogLevel::info, message, fields);
}
void Log::warn(std::string_view message, std::initializer_list<LogField> fields) {
  line(LogLevel::warn, message, fields);
}
void Log::error(std::string_view message, std::initializer_list<LogField> fields) {
  line(LogLevel::error, message, fields);
}

}  // namespace stowage::base
