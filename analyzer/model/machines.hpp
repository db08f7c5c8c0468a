// Which machine: by id, by file, or by what a run says about its device.
#pragma once

#include "read/machine.hpp"
#include "read/profile.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// A machine file compiled into the program, so that it works wherever it is copied to.
struct MachineText {
  std::string_view file_name;
  std::string_view text;
};
[[nodiscard]] std::span<const MachineText> machine_texts();  // generated from machines/*.json

[[nodiscard]] std::vector<read::Machine> builtin_machines();

// `name` is an id in any case ("A100-SXM4-40GB") or, with a slash or ending in .json, a file.
// Throws read::InputError for a file, std::invalid_argument with the choices for an id: also for
// one that is only the start of several ("a100"), since their peaks differ.
[[nodiscard]] read::Machine choose_machine(const std::string& name,
                                           std::span<const read::Machine> known);

struct Match {
  const read::Machine* machine = nullptr;  // null: none is known to be this device
  std::string reason;                      // why none, or "" if there is one
  std::string doubt;                       // there is one, but a clock differs; else ""
};

// Returns the machine that `device` is: same name, SM count and memory size (8 % apart at most:
// drivers report a little less than the data sheet).  A part of a GPU (MIG, green context) has
// fewer SMs and matches none.
[[nodiscard]] Match match_machine(const read::Device& device, std::span<const read::Machine> known);

// Returns how many times longer a kernel takes to start on `machine`; 1 where one of them does not
// say its generation.
[[nodiscard]] double launch_factor(const read::Machine& trained, const read::Machine& machine);

}  // namespace inline_prof::model
