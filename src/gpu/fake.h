// Cards from a file (gpu/fake_file.h), which is read again when its bytes change: cards appear and
// vanish, fail and recover as the file says. A file that can not be read, or understood, changes
// nothing; trouble() says why.
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
    std::string node = "node";  // its name, for the ids of cards that have none in the file
  };
  explicit FakeSource(Options options) : options_(std::move(options)) {}

  // An error only until the file could be read once.
  [[nodiscard]] Result<Inventory> inventory() override;
  [[nodiscard]] Result<std::vector<CardSample>> sample() override;
  // Those that stand in the file and did not when it was last read. To have one told again, take it
  // out and put it back, or write it once more.
  [[nodiscard]] std::vector<Fault> faults() override;
  [[nodiscard]] bool stale() const override { return stale_; }
  [[nodiscard]] std::string trouble() const override { return trouble_; }

 private:
  void look();

  Options options_;
  bool known_ = false;               // it could be read at least once
  std::optional<std::string> text_;  // as it was read last, good or bad
  FakeCards cards_;
  std::vector<Fault> pending_;
  std::string trouble_;
  bool stale_ = true;
};

}  // namespace stowage::gpu
