// A source on the fake NVML, with a clock that the test advances.
#pragma once

#include <chrono>
#include <string>

#include "gpu/nvml.h"
#include "gpu/testing/nvml_script.h"

namespace stowage::gpu::testing {

// One card in the format of the fake NVML.
inline std::string card_text(const std::string& id, int number) {
  const std::string n = std::to_string(number);
  return "card " + id + "\nname NVIDIA H100 80GB HBM3\nnumber " + n + "\nbrand 14\npci 0 1" + n +
         " 0\nmemory 81559 551 700\nutilisation 37\npower 123456\ntemperature 41\necc 0\nrows 0\n" +
         "recovery 0\nevents 108\n";
}

class NvmlWorld {
 public:
  explicit NvmlWorld(const std::string& text, const std::string& library = kFakeNvml)
      : script(text), source(options(library)) {}

  void wait(std::chrono::nanoseconds time) { now.ns += time.count(); }

  base::Instant now{1'000'000'000};
  NvmlScript script;
  NvmlSource source;

 private:
  [[nodiscard]] NvmlOptions options(const std::string& library) {
    return {.library = library, .sys = script.folder() + "/sys", .now = [this] { return now; }};
  }
};

}  // namespace stowage::gpu::testing
