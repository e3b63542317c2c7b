#include "cmd/card_source.h"

#include <string_view>

#include <fmt/format.h>

#include "gpu/fake.h"
#include "gpu/nvml.h"

namespace stowage::cmd {

Result<std::unique_ptr<gpu::Source>> card_source(const std::string& cards,
                                                 const std::string& node) {
  constexpr std::string_view kFake = "fake:";
  constexpr std::string_view kNvml = "nvml:";
  if (cards == "nvml") return std::make_unique<gpu::NvmlSource>(gpu::NvmlOptions{});
  if (cards.starts_with(kNvml)) {
    return std::make_unique<gpu::NvmlSource>(
        gpu::NvmlOptions{.library = cards.substr(kNvml.size())});
  }
  if (cards.starts_with(kFake)) {
    return std::make_unique<gpu::FakeSource>(
        gpu::FakeSource::Options{.path = cards.substr(kFake.size()), .node = node});
  }
  return fail(fmt::format("--cards: write nvml, nvml:LIBRARY or fake:FILE, not \"{}\"", cards));
}

}  // namespace stowage::cmd
