#include "model/machines.hpp"

#include "read/file_text.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
// H200: 139.8 GiB reported for 141 GB; A100 40 GB: 39.4 GiB.  Variants differ by a factor of two.
constexpr double kMemoryTolerance = 0.08;
// Board makers and power limits move the boost clock by a few per cent.
constexpr double kClockTolerance = 0.10;

bool differs(double value, double expected, double tolerance) {
  return std::abs(value - expected) > tolerance * expected;
}

bool is_file(const std::string& name) {
  return name.find('/') != std::string::npos || read::lower(name).ends_with(".json");
}

std::string ids_of(const std::vector<const read::Machine*>& machines) {
  std::string ids;
  for (const read::Machine* machine : machines) {
    if (!ids.empty()) ids += ", ";
    ids += machine->id;
  }
  return ids;
}

// Why `device`, which has the machine's name, is not this machine; "" if it is.
std::string difference(const read::Device& device, const read::Machine& machine) {
  constexpr double between_parts = 0.05;  // one name has been sold with 148 and with 152
  if (device.sm_count != 0 && differs(static_cast<double>(device.sm_count),
                                      static_cast<double>(machine.sm_count), between_parts)) {
    return fmt::format("it has {} SMs, {} has {}{}", device.sm_count, machine.id, machine.sm_count,
                       device.mig ? " (a MIG slice)" : "");
  }
  const double memory_gib = static_cast<double>(device.memory_bytes) / kBytesPerGib;
  if (device.memory_bytes != 0 && machine.memory_gib &&
      differs(memory_gib, *machine.memory_gib, kMemoryTolerance)) {
    return fmt::format("it has {:.1f} GiB, {} has {:g}", memory_gib, machine.id,
                       *machine.memory_gib);
  }
  return "";
}

std::string clock_doubt(const read::Device& device, const read::Machine& machine) {
  const double clock_mhz = static_cast<double>(device.sm_clock_khz) * 1e-3;
  if (device.sm_clock_khz == 0 || !machine.boost_clock_mhz ||
      !differs(clock_mhz, *machine.boost_clock_mhz, kClockTolerance)) {
    return "";
  }
  return fmt::format("device {} runs at up to {:.0f} MHz, the peaks of {} are for {:g} MHz",
                     device.device_id, clock_mhz, machine.id, *machine.boost_clock_mhz);
}

// Drivers have put the maker and the brand in front of a name, or left them out.
std::string short_name(const std::string& device_name) {
  std::string name = read::lower(device_name);
  for (const std::string_view word : {"nvidia ", "amd ", "tesla ", "geforce "}) {
    if (name.starts_with(word)) name.erase(0, word.size());
  }
  return name;
}

bool is_named(const read::Machine& machine, const std::string& device_name) {
  return std::ranges::any_of(machine.names, [&](const std::string& own) {
    return short_name(own) == short_name(device_name);
  });
}

}  // namespace

std::vector<read::Machine> builtin_machines() {
  std::vector<read::Machine> machines;
  for (const MachineText& file : machine_texts()) {
    machines.push_back(read::read_machine(file.text, std::string(file.file_name)));
  }
  return machines;
}

read::Machine choose_machine(const std::string& name, std::span<const read::Machine> known) {
  if (is_file(name)) return read::read_machine(read::read_text(name), name);
  const std::string id = read::lower(name);
  std::vector<const read::Machine*> all;
  std::vector<const read::Machine*> variants;
  for (const read::Machine& machine : known) {
    if (machine.id == id || is_named(machine, name)) return machine;
    all.push_back(&machine);
    if (machine.id.starts_with(id + "-")) variants.push_back(&machine);
  }
  if (variants.size() == 1) return *variants.front();
  if (!variants.empty()) {
    throw std::invalid_argument(
        fmt::format("machine {} is not one GPU: choose from {}", name, ids_of(variants)));
  }
  throw std::invalid_argument(
      fmt::format("unknown machine {}: choose from {}, or give a file", name, ids_of(all)));
}

Match match_machine(const read::Device& device, std::span<const read::Machine> known) {
  std::string reason = fmt::format("device {} is \"{}\", which no machine file names",
                                   device.device_id, device.name);
  for (const read::Machine& machine : known) {
    if (!is_named(machine, device.name)) continue;
    const std::string why_not = difference(device, machine);
    if (why_not.empty()) return {&machine, "", clock_doubt(device, machine)};
    reason = fmt::format("device {} is \"{}\", but {}", device.device_id, device.name, why_not);
  }
  return {nullptr, reason, ""};
}

double launch_factor(const read::Machine& trained, const read::Machine& machine) {
  // A kernel starts the sooner the later its generation: 2.95 us on A100 (compute capability 8.0),
  // 2.5 on H100 and H200 (9.0), 1.9 on B200 (10.0), each as products fitted to its own rows.
  constexpr double of_the_next_generation = 0.8;
  if (trained.compute_capability.empty() || machine.compute_capability.empty()) return 1;
  return std::pow(of_the_next_generation,
                  std::strtod(machine.compute_capability.c_str(), nullptr) -
                      std::strtod(trained.compute_capability.c_str(), nullptr));
}

}  // namespace inline_prof::model
