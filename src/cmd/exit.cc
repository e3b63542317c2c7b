#include "cmd/exit.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stowage::cmd {

int print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return kExitOk;
  const std::string reason = errno != 0 ? std::strerror(errno) : "unknown error";
  return end_with(kExitFailed, "cannot write to the standard output: " + reason);
}

int end_with(int code, std::string_view message) {
  std::string line = "stowage: ";
  for (const char c : message) line += c == '\n' || c == '\r' ? ' ' : c;
  line += '\n';
  std::fputs(line.c_str(), stderr);
  return code;
}

}  // namespace stowage::cmd
