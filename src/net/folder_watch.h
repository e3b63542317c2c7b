// Reports files that appear in a folder or leave it, as the system sees them (inotify).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"

namespace stowage::net {

struct FolderChange {
  enum class Kind : std::uint8_t {
    appeared,  // created, or renamed to this name
    left,      // removed, or renamed
    missed,    // changes were lost: look at the folder
    ended,     // the folder itself is gone; no change follows
  };
  Kind kind = Kind::missed;
  std::string name;  // of the file
};

class FolderWatch {
 public:
  using Handler = std::function<void(const FolderChange&)>;
  // Changes after this call are reported. The handler may destroy the watch. An error says why the
  // folder cannot be watched.
  [[nodiscard]] static Result<std::unique_ptr<FolderWatch>> watch(EventLoop& loop,
                                                                  const std::string& path,
                                                                  Handler handler);
  virtual ~FolderWatch() = default;  // no callback comes later
};

}  // namespace stowage::net
