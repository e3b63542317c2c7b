// Whole text files, read and written in one step.
#pragma once

#include <string>

#include "base/result.h"

namespace stowage::sim {

// The file's bytes. Files above 1 GiB are refused: a trace of a million pods has 100 MiB.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// Creates or replaces the file. A full disk is an error like any other.
[[nodiscard]] Status write_text_file(const std::string& path, const std::string& text);

}  // namespace stowage::sim
