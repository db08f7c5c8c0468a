#include "model/roofline.hpp"

#include "model/op_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace inline_prof::model {
namespace {

constexpr const char* kModelName = "roofline";

BytesPerSecond sustained_bandwidth(const read::Machine& machine) {
  return machine.memory_fraction * giga_bytes_per_second(machine.memory_gb_per_s);
}

Prediction slowest_of(Seconds compute, Seconds memory, Seconds floor) {
  Prediction prediction;
  prediction.time = floor;
  prediction.model = kModelName;
  if (memory > prediction.time) {
    prediction.time = memory;
    prediction.bound = Bound::kMemory;
  }
  if (compute > prediction.time) {
    prediction.time = compute;
    prediction.bound = Bound::kCompute;
  }
  return prediction;
}

// The key of peak_tflops for one operand.  Both 8-bit formats run at the same rate.
std::string_view peak_key(std::string_view type, std::string_view compute_type) {
  if (type == "f8e4m3" || type == "f8e5m2") return "f8";
  if (type == "f4e2m1") return "f4";
  if (type == "f32" && compute_type == "tf32") return "tf32";
  return type;
}

// The operands' common rate: hardware multiplies two types at the rate of the slower one.
struct Peak {
  FlopPerSecond rate;
  std::string missing;  // the type that the machine has no peak for
};

Peak find_peak(const read::Machine& machine, const OpWork& work) {
  Peak peak;
  for (const std::string& type : work.operands) {
    const auto it = machine.peak_tflops.find(std::string(peak_key(type, work.compute_type)));
    if (it == machine.peak_tflops.end()) return {.rate = {}, .missing = type};
    const FlopPerSecond rate = tera_flop_per_second(it->second);
    peak.rate = peak.rate.value > 0 ? std::min(peak.rate, rate) : rate;
  }
  return peak;
}

}  // namespace

Outcome predict_roofline(const read::Op& op, const read::Machine& machine) {
  const OpWork work = work_of(op);
  if (!work.reason.empty()) return Outcome::none(work.reason);
  Seconds compute{0};
  if (!work.operands.empty()) {
    const Peak peak = find_peak(machine, work);
    if (!peak.missing.empty()) {
      return Outcome::none(fmt::format("{} has no peak for {}", machine.id, peak.missing));
    }
    compute = work.flops / (machine.gemm_fraction * peak.rate);
  }
  const Prediction prediction = slowest_of(compute, work.traffic / sustained_bandwidth(machine),
                                           microseconds(machine.launch_floor_us));
  // A machine file may hold any positive number: 1e-320 TFLOP/s take for ever, 1e305 no time.
  const double seconds = prediction.time.value;
  if (!std::isfinite(seconds) || !(seconds > 0)) {
    return Outcome::none(fmt::format("{} would take {:g} s", machine.id, seconds));
  }
  return {prediction, ""};
}

}  // namespace inline_prof::model
