// Writes the events and commands of an engine as text: the same bytes for the same decisions. Two
// versions of the code decide alike if their logs are equal; otherwise the first different line is
// the decision to look at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "core/engine/external_requests.h"
#include "core/model/event.h"

namespace stowage::decisions {

class Log {
 public:
  // Begins a step: what happened, to what, and when.
  void step(std::string_view what, std::string_view subject, base::Instant now);
  void commands(const core::Commands& commands);
  void answer(const core::FilterAnswer& answer);
  void answer(const core::Scores& scores);
  void answer(const core::ReserveAnswer& answer);
  void answer(const core::PreemptAnswer& answer);
  void line(std::string_view text);

  // Writes the rest to standard output. False: it could not be written.
  [[nodiscard]] bool flush();

 private:
  void add_reason(const core::Reason& reason);
  void add_place(const core::CardPlacement& place);

  std::string text_;
  std::uint64_t steps_ = 0;
  bool good_ = true;
};

}  // namespace stowage::decisions
