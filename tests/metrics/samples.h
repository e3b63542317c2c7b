// The metrics of the controller and of the agent, as the code writes them with sample data for
// every metric, and their descriptions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace stowage::metrics {

[[nodiscard]] std::string controller_sample();
[[nodiscard]] std::string agent_sample();

struct Family {
  std::string name;
  std::string type;
  std::string help;
  std::map<std::string, std::set<std::string>> labels;  // with the values of the sample
};
// In the order of the text.
[[nodiscard]] std::vector<Family> families(const std::string& text);

}  // namespace stowage::metrics
