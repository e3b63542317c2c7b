// The script of the fake NVML (gpu/testing/fake_nvml.cc), read from its file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/nvml_api.h"

namespace stowage::gpu::nvml {

struct Entry {
  std::string id;
  std::string name;
  std::optional<std::uint32_t> number;
  std::optional<std::uint32_t> brand;
  std::optional<std::uint32_t> mode;
  std::optional<PciInfo> pci;
  std::optional<MemoryV2> memory;
  std::optional<std::uint32_t> utilisation, power, temperature, rows, recovery;
  std::optional<std::uint64_t> ecc, events;
  std::map<char, std::vector<Process>> processes;
  std::map<std::uint32_t, int> links;  // -1: a switch, -2: down
  std::map<std::uint32_t, std::uint32_t> near, peer;
  std::map<std::string, Return> fails;
  bool gap = false;
  std::uint32_t gpu_instance = kNoInstance;
  std::uint32_t compute_instance = kNoInstance;
  std::optional<Attributes> slices;
  std::vector<Entry> instances;
  bool divided = false;
};

struct Told {
  std::uint32_t card = 0;
  Event event;
};

struct Script {
  std::string driver = "550.54.15";
  std::map<std::string, Return> fails;
  std::vector<Entry> cards;
  std::vector<Told> events;
};

inline void read_card_line(const std::string& word, std::istringstream& in, Entry& at) {
  std::uint32_t number = 0;
  if (word == "name") {
    std::getline(in >> std::ws, at.name);
  } else if (word == "pci") {
    PciInfo pci;
    in >> std::hex >> pci.domain >> pci.bus >> pci.device;
    pci.device_id = 0x233510DE;
    std::snprintf(pci.id.data(), pci.id.size(), "%08X:%02X:%02X.0", pci.domain, pci.bus,
                  pci.device);
    at.pci = pci;
  } else if (word == "memory") {
    MemoryV2 m;
    in >> m.total >> m.reserved >> m.used;
    m.free = m.total - m.reserved - m.used;
    for (std::uint64_t* part : {&m.total, &m.reserved, &m.used, &m.free}) *part <<= 20U;
    at.memory = m;
  } else if (word == "process") {
    char list = 'c';
    std::string memory;
    Process process{.gpu_instance = kNoInstance, .compute_instance = kNoInstance};
    in >> list >> process.pid >> memory;
    process.memory = memory == "-" ? kNotAvailable : std::stoull(memory) << 20U;
    at.processes[list].push_back(process);
  } else if (word == "link") {
    std::string to;
    int card = 0;
    in >> number >> to >> card;
    at.links[number] = to == "switch" ? -1 : to == "down" ? -2 : card;
  } else if (word == "near" || word == "peer") {
    std::uint32_t value = 0;
    in >> number >> value;
    (word == "near" ? at.near : at.peer)[number] = value;
  } else if (word == "slices") {
    Attributes a;
    in >> a.gpu_slices >> a.compute_slices >> a.memory_mib;
    at.slices = a;
  } else if (word == "ecc") {
    std::uint64_t count = 0;
    in >> count;
    at.ecc = count;
  } else if (word == "events") {
    std::uint64_t types = 0;
    in >> std::hex >> types;
    at.events = types;
  } else {
    in >> number;
    if (word == "number") at.number = number;
    if (word == "brand") at.brand = number;
    if (word == "mode") at.mode = number;
    if (word == "utilisation") at.utilisation = number;
    if (word == "power") at.power = number;
    if (word == "temperature") at.temperature = number;
    if (word == "rows") at.rows = number;
    if (word == "recovery") at.recovery = number;
  }
}

inline Script read_script() {
  Script script;
  const char* const path = std::getenv("STOWAGE_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  Entry* at = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string word;
    if (!(in >> word)) continue;
    if (word == "driver") {
      in >> script.driver;
    } else if (word == "card") {
      script.cards.emplace_back();
      at = &script.cards.back();
      in >> at->id;
    } else if (word == "mig" || word == "gap") {
      Entry& card = script.cards.back();
      card.divided = true;
      card.instances.emplace_back();
      at = &card.instances.back();
      at->gap = word == "gap";
      in >> at->id >> at->gpu_instance >> at->compute_instance;
    } else if (word == "fail") {
      std::string function;
      Return code = kSuccess;
      in >> function >> code;
      (at == nullptr ? script.fails : at->fails)[function] = code;
    } else if (word == "event") {
      Told told{.event = {.gpu_instance = kNoInstance, .compute_instance = kNoInstance}};
      in >> told.card >> std::hex >> told.event.type >> std::dec >> told.event.data;
      std::uint32_t gpu = 0;
      std::uint32_t compute = 0;
      if (in >> gpu >> compute) {
        told.event.gpu_instance = gpu;
        told.event.compute_instance = compute;
      }
      script.events.push_back(told);
    } else if (at != nullptr) {
      read_card_line(word, in, *at);
    }
  }
  return script;
}

}  // namespace stowage::gpu::nvml
