// Reads Kubernetes objects from files: YAML or JSON, several documents in one file, lists split
// into items. Each object is returned as JSON text. Files are limited to 256 MiB each.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/yaml_json.h"

namespace stowage::client {

inline constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20U;

struct Manifest {
  std::string kind;       // e.g. "Pod"; also for an item of a PodList that has no kind itself
  std::string_view json;  // one object; valid as long as its Manifests
  std::string file;
  std::size_t document = 0;  // in the file, from 1
  std::size_t line = 0;      // where the object begins, from 1; 0: not known

  // For errors: "pods.yaml: document 2, line 17".
  [[nodiscard]] std::string place() const;
};

// The objects of one file, and the texts that they are views of. Movable, not copyable: the objects
// point into its texts.
class Manifests {
 public:
  Manifests(Manifests&&) = default;
  Manifests& operator=(Manifests&&) = default;
  Manifests(const Manifests&) = delete;
  Manifests& operator=(const Manifests&) = delete;
  ~Manifests() = default;

  using OnProgress = std::function<void(double)>;  // the fraction of the file that has been read

  // Errors name the file, the number of the document and the line.
  [[nodiscard]] static Result<Manifests> parse(std::string text, const std::string& file,
                                               const OnProgress& on_progress = {});
  // "-" is the standard input.
  [[nodiscard]] static Result<Manifests> load(const std::string& file,
                                              const OnProgress& on_progress = {});

  [[nodiscard]] const std::vector<Manifest>& objects() const { return objects_; }

 private:
  struct Part {  // of a file: one document
    std::string_view json;
    std::size_t document = 0;
    std::size_t line = 0;
    const std::vector<std::size_t>* item_lines = nullptr;  // null: they are those of the text
  };
  [[nodiscard]] Status add_json(const std::string& file);
  [[nodiscard]] Status add_yaml(const std::string& file, const OnProgress& on_progress);
  [[nodiscard]] Status add(const Part& part, const std::string& file);

  Manifests() = default;

  std::deque<std::string> texts_;  // elements never move, because objects_ points into them
  std::vector<Manifest> objects_;
};

// Reads at most `max_bytes`; "-" is the standard input. Errors name the file.
[[nodiscard]] Result<std::string> read_input(const std::string& file, std::size_t max_bytes);

// Whether the text is read as JSON: it begins with an object whose first key is quoted.
[[nodiscard]] bool looks_like_json(std::string_view text);

}  // namespace stowage::client
