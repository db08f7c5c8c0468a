// Machine files: what is accepted has no number that a GPU cannot have.
#include "property.hpp"
#include "read/machine.hpp"

#include <cmath>

using namespace inline_prof;

void fuzz::check(const std::string& text) {
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  const read::Machine machine = read::read_machine(text, "fuzz");
  fuzz::require(machine.sm_count > 0, "sm_count > 0");
  fuzz::require(is_positive(machine.memory_gb_per_s), "memory_gb_per_s > 0");
  fuzz::require(is_positive(machine.gemm_fraction) && machine.gemm_fraction <= 1,
                "0 < gemm_fraction <= 1");
  fuzz::require(is_positive(machine.memory_fraction) && machine.memory_fraction <= 1,
                "0 < memory_fraction <= 1");
  fuzz::require(std::isfinite(machine.launch_floor_us) && machine.launch_floor_us >= 0,
                "launch_floor_us >= 0");
  for (const auto& [type, peak] : machine.peak_tflops)
    fuzz::require(is_positive(peak), "every peak > 0");
}
