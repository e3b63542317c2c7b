// Writes the CDI specification of one container: what makes the runtime add exactly its cards.
//
//   cdi      the device nodes of the cards, and the files of the driver, copied from NVIDIA's
//            specification of this machine: works with every runtime that knows CDI
//   runtime  only an environment variable with the cards; the nvidia runtime does the rest
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/driver_specs.h"
#include "plugin/nvidia_spec.h"
#include "plugin/spec_folder.h"

namespace stowage::plugin {

enum class InjectionWay : std::uint8_t { automatic, cdi, runtime };
// "auto", "cdi", "runtime".
[[nodiscard]] Result<InjectionWay> parse_injection(std::string_view word);
[[nodiscard]] std::string_view to_string(InjectionWay way);

struct InjectionOptions {
  InjectionWay way = InjectionWay::automatic;  // cdi, if NVIDIA's specification is there
  std::string cdi_folder = "/var/run/cdi";
  std::string static_cdi_folder = "/etc/cdi";
  // Where the files of the machine are seen, to check those of the driver; empty: not checked.
  std::string host_root = "/";
};

class Injection {
 public:
  explicit Injection(InjectionOptions options);

  // True if a file was written: runtimes need a moment to notice it. `keep`: the container got
  // these cards before, so if no new specification can be made, the present one is good.
  struct Ask {
    std::string_view device;  // our CDI name
    const std::vector<CardNames>& cards;
    CdiEdits more = {};  // what limits the container
    bool keep = false;
  };
  [[nodiscard]] Result<bool> prepare(const Ask& ask);
  [[nodiscard]] SpecFolder& folder() { return folder_; }
  // Of the last specification; automatic: none yet.
  [[nodiscard]] InjectionWay last_way() const { return last_way_; }

 private:
  [[nodiscard]] Result<CdiEdits> edits(const std::vector<CardNames>& cards);
  [[nodiscard]] Status check_paths(const CdiEdits& edits) const;

  InjectionOptions options_;
  DriverSpecs driver_;
  SpecFolder folder_;
  InjectionWay last_way_ = InjectionWay::automatic;
};

}  // namespace stowage::plugin
