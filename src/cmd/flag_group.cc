#include "cmd/flag_group.h"

#include <CLI/CLI.hpp>

namespace stowage::cmd {

CLI::Option* FlagGroup::value(const std::string& name, std::string& into, const std::string& type,
                              const std::string& help) const {
  return command_.add_option(name, into, help)->group(heading_)->type_name(type);
}

CLI::Option* FlagGroup::value(const std::string& name, std::vector<std::string>& into,
                              const std::string& type, const std::string& help) const {
  return command_.add_option(name, into, help)->group(heading_)->type_name(type);
}

CLI::Option* FlagGroup::flag(const std::string& name, bool& into, const std::string& help) const {
  return command_.add_flag(name, into, help)->group(heading_);
}

}  // namespace stowage::cmd
