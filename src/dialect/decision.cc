#include "dialect/decision.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/number.h"
#include "dialect/own_annotations.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kVersion = "v1";
constexpr std::string_view kMessageDomain = "stowage.dev/decision/v1";
constexpr std::size_t kKeyDigits = 16;
constexpr std::size_t kDigestChars = 44;     // 32 bytes in base64
constexpr std::size_t kSignatureChars = 88;  // 64 bytes
constexpr std::size_t kMaxText = 256;

void put(std::string& out, std::string_view field) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out += static_cast<char>((std::uint64_t{field.size()} >> static_cast<unsigned>(shift)) & 0xFFU);
  }
  out += field;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_base64(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '/' || c == '=';
  });
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

// Non-negative, in the format of to_string().
std::optional<std::int64_t> parse_whole(std::string_view text) {
  const auto number = base::parse_number<std::int64_t>(text);
  return number && *number >= 0 && std::to_string(*number) == text ? number : std::nullopt;
}

}  // namespace

std::string_view to_string(Purpose purpose) {
  switch (purpose) {
    case Purpose::bound: return "bound";
    case Purpose::pre_allocation: return "promise";
    case Purpose::withdrawn: return "withdrawn";
  }
  return {};
}

std::string signed_message(const Decision& decision) {
  std::string message;
  put(message, kMessageDomain);
  put(message, to_string(decision.purpose));
  put(message, decision.uid);
  put(message, decision.node);
  put(message, std::to_string(decision.unix_nanos));
  put(message, decision.gpus);
  put(message, decision.dialect_hash);
  return message;
}

bool chosen_by_scheduler(std::string_view key) {
  const auto all = dialects();
  return std::any_of(all.begin(), all.end(), [&](const Dialect& dialect) {
    return std::any_of(dialect.chosen.begin(), dialect.chosen.end(),
                       [&](std::string_view start) { return key.starts_with(start); });
  });
}

std::string dialect_message(const Annotations& pod, const Annotations& added) {
  std::map<std::string_view, std::string_view> texts;
  for (const Annotations* from : {&pod, &added}) {
    for (const auto& [key, text] : *from) {
      if (chosen_by_scheduler(key)) texts[key] = text;
    }
  }
  std::string message;
  for (const auto& [key, text] : texts) {
    put(message, key);
    put(message, text);
  }
  return message;
}

void erase_scheduler_words(Annotations& annotations) {
  std::erase_if(annotations, [](const auto& entry) {
    return entry.first == kGpusAnnotation || entry.first == kSignatureAnnotation ||
           entry.first == kPreAllocatedNodeAnnotation || chosen_by_scheduler(entry.first);
  });
}

std::string to_text(const SignatureText& signature) {
  return fmt::format("{}:{}:{}:{}:{}:{}", kVersion, signature.key, to_string(signature.purpose),
                     signature.unix_nanos, signature.digest, signature.signature);
}

std::optional<SignatureText> parse_signature(std::string_view text) {
  if (text.size() > kMaxText) return std::nullopt;
  const std::vector<std::string_view> parts = split(text);
  if (parts.size() != 6 || parts[0] != kVersion) return std::nullopt;
  if (parts[1].size() != kKeyDigits || !is_hex(parts[1])) return std::nullopt;
  const auto made = parse_whole(parts[3]);
  if (!made) return std::nullopt;
  if (parts[4].size() != kDigestChars || parts[5].size() != kSignatureChars) return std::nullopt;
  if (!is_base64(parts[4]) || !is_base64(parts[5])) return std::nullopt;
  SignatureText out{.key = std::string(parts[1]),
                    .unix_nanos = *made,
                    .digest = std::string(parts[4]),
                    .signature = std::string(parts[5])};
  for (const Purpose purpose : {Purpose::bound, Purpose::pre_allocation, Purpose::withdrawn}) {
    if (parts[2] != to_string(purpose)) continue;
    out.purpose = purpose;
    return out;
  }
  return std::nullopt;
}

}  // namespace stowage::dialect
