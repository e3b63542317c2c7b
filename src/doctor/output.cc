#include "doctor/output.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace stowage::doctor {

std::string to_table(const NodeReport& report) {
  std::string out;
  for (const Finding& finding : report.findings) {
    out += fmt::format("{:<8} {:<15} {}\n", to_string(finding.state), finding.check, finding.text);
    if (!finding.remedy.empty()) out += fmt::format("{:<8} {:<15} -> {}\n", "", "", finding.remedy);
  }
  return out;
}

std::string to_json(const NodeReport& report) {
  base::JsonWriter json;
  json.begin_object();
  json.key("sound").boolean(sound(report.findings));
  json.key("injection").value(to_string(report.way));
  json.key("findings").begin_array();
  for (const Finding& finding : report.findings) {
    json.begin_object();
    json.key("check").value(finding.check);
    json.key("state").value(to_string(finding.state));
    json.key("text").value(finding.text);
    if (!finding.remedy.empty()) json.key("remedy").value(finding.remedy);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace stowage::doctor
