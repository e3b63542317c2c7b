// The flags of one command under one heading of its help.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): named by the library
class App;
class Option;
}  // namespace CLI

namespace stowage::cmd {

// Parsed values go to `into`, which must outlive the app; other values stay unchanged.
class FlagGroup {
 public:
  explicit FlagGroup(CLI::App& command, std::string heading = "Options")
      : command_(command), heading_(std::move(heading)) {}

  // A flag with one value, which the help calls `type`; the second overload accepts several values.
  CLI::Option* value(const std::string& name, std::string& into, const std::string& type,
                     const std::string& help) const;
  CLI::Option* value(const std::string& name, std::vector<std::string>& into,
                     const std::string& type, const std::string& help) const;
  CLI::Option* flag(const std::string& name, bool& into, const std::string& help) const;

 private:
  CLI::App& command_;
  std::string heading_;
};

}  // namespace stowage::cmd
