// Cards from a file (gpu/fake_file.h), which is read again when its content changes: cards appear,
// disappear, fail and recover as the file says. A file that cannot be read or parsed changes
// nothing; trouble() gives the reason.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/fake_file.h"
#include "gpu/source.h"

namespace stowage::gpu {

class FakeSource final : public Source {
 public:
  struct Options {
    std::string path;
    std::string node = "node";  // node name, for the ids of cards that have none in the file
  };
  explicit FakeSource(Options options) : options_(std::move(options)) {}

  // Fails only until the file was read once.
  [[nodiscard]] Result<Inventory> inventory() override;
  [[nodiscard]] Result<std::vector<CardSample>> sample() override;
  // The faults in the file that were not there at the last read. To report one again, remove it and
  // add it again, or add it a second time.
  [[nodiscard]] std::vector<Fault> faults() override;
  [[nodiscard]] bool stale() const override { return stale_; }
  [[nodiscard]] std::string trouble() const override { return trouble_; }

 private:
  void look();

  Options options_;
  bool known_ = false;               // it was read at least once
  std::optional<std::string> text_;  // content of the last read, valid or not
  FakeCards cards_;
  std::vector<Fault> pending_;
  std::string trouble_;
  bool stale_ = true;
};

}  // namespace stowage::gpu
