#include "local/fleet/catalogue.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/number.h"
#include "core/model/node.h"
#include "local/names.h"

namespace stowage::local {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const CardModel& model : card_models()) result.push_back(model.name);
  return result;
}

// "name:MiB"
Result<CardModel> own_model(std::string_view text, std::size_t colon) {
  const std::string name(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  if (name.empty() || label_value_problem(name)) {
    return fail(fmt::format(
        "GPU model \"{}\": the name before the colon must be letters, digits, - and _", text));
  }
  const auto mib = base::parse_number<std::int32_t>(digits);
  if (!mib || *mib < 1 || *mib > core::kMaxCardMemoryMib) {
    return fail(fmt::format(
        "GPU model \"{}\": the memory after the colon must be a number of MiB from 1 to {}", text,
        core::kMaxCardMemoryMib));
  }
  return CardModel{name, name, *mib};
}

}  // namespace

const std::vector<CardModel>& card_models() {
  static const std::vector<CardModel> kModels = {
      {"A10", "NVIDIA A10", 23028},
      {"A100-40GB", "NVIDIA A100-SXM4-40GB", 40960},
      {"A100-80GB", "NVIDIA A100-SXM4-80GB", 81920},
      {"A30", "NVIDIA A30", 24576},
      {"A40", "NVIDIA A40", 46068},
      {"B200-180GB", "NVIDIA B200", 183359},
      {"H100-80GB", "NVIDIA H100 80GB HBM3", 81559},
      {"H200-141GB", "NVIDIA H200", 143771},
      {"L4", "NVIDIA L4", 23034},
      {"L40S", "NVIDIA L40S", 46068},
      {"P100-16GB", "Tesla P100-SXM2-16GB", 16384},
      {"RTX-4090", "NVIDIA GeForce RTX 4090", 24564},
      {"T4", "Tesla T4", 15360},
      {"V100-16GB", "Tesla V100-SXM2-16GB", 16384},
      {"V100-32GB", "Tesla V100-SXM2-32GB", 32768},
  };
  return kModels;
}

Result<CardModel> find_card_model(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) return own_model(text, colon);
  const std::string wanted = upper(text);
  for (const CardModel& model : card_models()) {
    if (model.name == wanted) return model;
  }
  const std::vector<std::string> known = names();
  const std::string near = base::nearest(wanted, known);
  return fail(fmt::format("unknown GPU model \"{}\"{} (known: {}; or write NAME:MiB)", text,
                          near.empty() ? "" : fmt::format("; did you mean {}?", near),
                          fmt::join(known, ", ")));
}

}  // namespace stowage::local
