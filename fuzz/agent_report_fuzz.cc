// agent_report: a line that was read, then written, is read as the same.
#include "codec/agent_report.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::AgentReportReader reader;
  const auto report = reader.read(input);
  if (!good(report)) return;
  const auto again = reader.read(codec::agent_report(*report));
  STOWAGE_CHECK(again && *again == *report);
}

}  // namespace stowage::fuzz
