#include "plugin/injection.h"

#include <array>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "plugin/cdi.h"

namespace stowage::plugin {
namespace {

constexpr std::array<std::pair<std::string_view, InjectionWay>, 3> kWays{
    {{"auto", InjectionWay::automatic},
     {"cdi", InjectionWay::cdi},
     {"runtime", InjectionWay::runtime}}};

CdiEdits environment_of(const std::vector<CardNames>& cards) {
  std::string ids;
  for (const CardNames& card : cards) ids += (ids.empty() ? "" : ",") + card.id;
  CdiEdits edits;
  edits.env.push_back("NVIDIA_VISIBLE_DEVICES=" + ids);
  return edits;
}

}  // namespace

Result<InjectionWay> parse_injection(std::string_view word) {
  for (const auto& [name, way] : kWays) {
    if (name == word) return way;
  }
  return fail(fmt::format("expected auto, cdi or runtime, found \"{}\"", word));
}

std::string_view to_string(InjectionWay way) {
  for (const auto& [name, each] : kWays) {
    if (each == way) return name;
  }
  return {};
}

Injection::Injection(InjectionOptions options)
    : options_(std::move(options)),
      driver_({options_.cdi_folder, options_.static_cdi_folder}),
      folder_(options_.cdi_folder) {}

Result<bool> Injection::prepare(const Ask& ask) {
  auto made = edits(ask.cards);
  if (!made) {
    if (ask.keep && folder_.read(ask.device)) return false;
    return fail(made.error().message);
  }
  add(*made, ask.more);
  return folder_.write(ask.device, cdi_spec(ask.device, *made));
}

Result<CdiEdits> Injection::edits(const std::vector<CardNames>& cards) {
  last_way_ = options_.way;
  if (options_.way == InjectionWay::runtime) return environment_of(cards);
  STOWAGE_TRY(specs, driver_.read());
  if (specs.empty()) {
    if (options_.way == InjectionWay::cdi) {
      return fail(
          fmt::format("there is no CDI specification of kind {} in {} or {}; generate one "
                      "with: nvidia-ctk cdi generate --output={}/nvidia.yaml",
                      kNvidiaKind, options_.cdi_folder, options_.static_cdi_folder,
                      options_.static_cdi_folder));
    }
    last_way_ = InjectionWay::runtime;
    return environment_of(cards);
  }
  last_way_ = InjectionWay::cdi;
  STOWAGE_TRY(made, edits_for(specs, cards));
  STOWAGE_TRY_VOID(check_paths(made));
  return made;
}

// The runtime would fail for them as well, with a message that says less.
Status Injection::check_paths(const CdiEdits& edits) const {
  if (options_.host_root.empty()) return {};
  const std::string root = options_.host_root == "/" ? "" : options_.host_root;
  for (const std::string& path : host_paths(edits)) {
    struct stat found {};
    // A link may point outside of the folder in which we see the machine.
    if (::lstat((root + path).c_str(), &found) == 0) continue;
    return fail(
        fmt::format("{}, which NVIDIA's CDI specification names, does not exist; after a "
                    "change of the driver, generate the specification again",
                    path));
  }
  return {};
}

}  // namespace stowage::plugin
