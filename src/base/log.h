// Structured log lines on one stream: text for people or JSON for machines.
//
//   2026-11-15T08:03:23.000123Z info  pod bound pod=ns/a node=n1
//   {"time":"2026-11-15T08:03:23.000123Z","level":"info","message":"pod bound","pod":"ns/a"}
//
// Any thread may log; each line is written as a whole. The level can be changed at run time. Values
// are escaped, so that no value can forge a line. Callers never pass secrets.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::base {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
enum class LogFormat : std::uint8_t { text, json };

[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view word);
[[nodiscard]] Result<LogFormat> parse_log_format(std::string_view word);
[[nodiscard]] const char* to_string(LogLevel level);

struct LogField {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::text;
    std::function<void(std::string_view)> write;  // gets a whole line; empty: standard error
    std::function<std::int64_t()> unix_micros;    // the time; empty: the system clock
  };
  Log();
  explicit Log(Options options);

  void debug(std::string_view message, std::initializer_list<LogField> fields = {});
  void info(std::string_view message, std::initializer_list<LogField> fields = {});
  void warn(std::string_view message, std::initializer_list<LogField> fields = {});
  void error(std::string_view message, std::initializer_list<LogField> fields = {});

  [[nodiscard]] bool enabled(LogLevel level) const { return level >= level_.load(); }
  [[nodiscard]] LogLevel level() const { return level_.load(); }
  void set_level(LogLevel level) { level_.store(level); }

 private:
  void line(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

  std::atomic<LogLevel> level_;
  LogFormat format_;
  std::function<void(std::string_view)> write_;
  std::function<std::int64_t()> unix_micros_;
  std::mutex mutex_;
};

}  // namespace stowage::base
