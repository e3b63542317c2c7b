// Prints what a source of cards reports, as JSON: one line with the inventory, then one per sample.
//
//   stowage_gpu_probe --nvml [LIBRARY] | --fake FILE [--samples 1] [--every 1000]
//
// --every: milliseconds between samples. Exit status 1 if the source reports nothing, 2 if the
// flags are invalid.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "gpu/card_list.h"
#include "gpu/fake.h"
#include "gpu/health.h"
#include "gpu/nvml.h"

namespace {

using namespace stowage;
using base::JsonWriter;
using Clock = std::chrono::steady_clock;

struct Flags {
  std::unique_ptr<gpu::Source> source;
  int samples = 1;
  std::chrono::milliseconds every{1000};
};

base::Instant now() { return {Clock::now().time_since_epoch() / std::chrono::nanoseconds{1}}; }

template <typename Number>
void optional_number(JsonWriter& json, std::string_view key, const std::optional<Number>& number) {
  json.key(key);
  if (!number) {
    json.null();
  } else {
    json.value(*number);
  }
}

void optional_flag(JsonWriter& json, std::string_view key, const std::optional<bool>& flag) {
  json.key(key);
  if (!flag) {
    json.null();
  } else {
    json.boolean(*flag);
  }
}

void print(JsonWriter& json) {
  const std::string line = json.take() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void write_card(JsonWriter& json, const gpu::CardInfo& card) {
  json.begin_object();
  json.key("id").value(card.id).key("index").value(card.index);
  optional_number(json, "minor", card.minor);
  json.key("model").value(card.model).key("brand").value(card.brand);
  json.key("busId").value(card.bus_id).key("memoryMiB").value(card.memory_mib);
  json.key("numa").value(card.numa).key("answers").boolean(card.answers);
  json.key("mig");
  if (card.mig) {
    const gpu::Mig& mig = *card.mig;
    json.begin_object();
    json.key("parent").value(mig.parent).key("profile").value(mig.profile);
    json.key("position").value(mig.position);
    json.key("gpuSlices").value(mig.gpu_slices).key("computeSlices").value(mig.compute_slices);
    json.key("gpuInstance").value(mig.gpu_instance);
    json.key("computeInstance").value(mig.compute_instance);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

void print_inventory(const gpu::Inventory& inventory, const gpu::CardList& list) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("kind").value("inventory");
  json.key("driver").value(inventory.driver_version).key("nvml").value(inventory.nvml_version);
  json.key("driverLife").value(inventory.driver_life);
  json.key("cards").begin_array();
  for (const gpu::CardInfo& card : inventory.cards) write_card(json, card);
  json.end_array().key("links").begin_array();
  const auto n = static_cast<std::size_t>(inventory.links.cards);
  for (std::size_t a = 0; a < n; ++a) {
    json.begin_array();
    for (std::size_t b = 0; b < n; ++b) json.value(inventory.links.between(a, b));
    json.end_array();
  }
  json.end_array().key("list").begin_array();
  for (const core::Card& card : list.cards) {
    json.begin_object().key("id").value(card.id).key("index").value(card.index);
    json.key("healthy").boolean(card.healthy).end_object();
  }
  json.end_array().end_object();
  print(json);
}

void write_sample(JsonWriter& json, const gpu::CardSample& sample) {
  json.begin_object().key("id").value(sample.id);
  optional_number(json, "utilisationPermille", sample.utilisation_permille);
  optional_number(json, "memoryUsedMiB", sample.memory_used_mib);
  optional_number(json, "powerMilliwatts", sample.power_mw);
  optional_number(json, "temperatureC", sample.temperature_c);
  optional_number(json, "eccUncorrected", sample.ecc_uncorrected);
  optional_flag(json, "rowRemapFailed", sample.row_remap_failed);
  optional_flag(json, "needsReset", sample.needs_reset);
  json.key("processes");
  if (sample.processes) {
    json.begin_array();
    for (const gpu::Process& process : *sample.processes) {
      json.begin_object().key("pid").value(std::uint64_t{process.pid});
      optional_number(json, "memoryMiB", process.memory_mib);
      json.end_object();
    }
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

void print_samples(const std::vector<gpu::CardSample>& samples,
                   const std::vector<gpu::Fault>& faults, Clock::duration took) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("kind").value("samples");
  json.key("tookMicros").value(std::int64_t{took / std::chrono::microseconds{1}});
  json.key("cards").begin_array();
  for (const gpu::CardSample& sample : samples) write_sample(json, sample);
  json.end_array().key("faults").begin_array();
  for (const gpu::Fault& fault : faults) {
    json.begin_object().key("kind").value(to_string(fault.kind)).key("card").value(fault.card);
    json.key("xid").value(std::uint64_t{fault.xid}).key("text").value(fault.text).end_object();
  }
  json.end_array().end_object();
  print(json);
}

bool read_number(const char* text, int& number) {
  const std::string_view word(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && number >= 0;
}

std::optional<Flags> read_flags(int argc, char** argv) {
  Flags flags;
  int every = 1000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const bool more = i + 1 < argc && argv[i + 1][0] != '-';
    if (flag == "--nvml" && !flags.source) {
      gpu::NvmlOptions options;
      if (more) options.library = argv[++i];
      flags.source = std::make_unique<gpu::NvmlSource>(std::move(options));
    } else if (flag == "--fake" && more && !flags.source) {
      flags.source = std::make_unique<gpu::FakeSource>(gpu::FakeSource::Options{.path = argv[++i]});
    } else if (flag == "--samples" && more) {
      if (!read_number(argv[++i], flags.samples)) return std::nullopt;
    } else if (flag == "--every" && more) {
      if (!read_number(argv[++i], every)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!flags.source) return std::nullopt;
  flags.every = std::chrono::milliseconds{every};
  return flags;
}

int complain(const std::string& why) {
  std::fprintf(stderr, "stowage_gpu_probe: %s\n", why.c_str());
  return 1;
}

int run(gpu::Source& source, const Flags& flags) {
  gpu::HealthTracker health{gpu::HealthOptions{}};
  const auto inventory = source.inventory();
  if (!inventory) return complain(inventory.error().message);
  health.observe(*inventory, now());
  print_inventory(*inventory, gpu::cards_of(*inventory, health));
  auto next = Clock::now();
  for (int i = 0; i < flags.samples; ++i) {
    std::this_thread::sleep_until(next);
    next += flags.every;
    const auto start = Clock::now();
    const auto samples = source.sample();
    const auto faults = source.faults();
    const auto took = Clock::now() - start;
    if (!samples) return complain(samples.error().message);
    print_samples(*samples, faults, took);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto flags = read_flags(argc, argv);
  if (!flags) {
    std::fputs(
        "usage: stowage_gpu_probe --nvml [LIBRARY] | --fake FILE [--samples N] [--every MS]\n",
        stderr);
    return 2;
  }
  return run(*flags->source, *flags);
}
