#include "model/roofline.hpp"

#include <inline_prof/op_kind.hpp>

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

Peak find_peak(const read::Machine& machine, const std::string& a_type, const std::string& b_type,
               const std::string& compute_type) {
  Peak peak;
  for (const std::string& type : {a_type, b_type}) {
    const auto it = machine.peak_tflops.find(std::string(peak_key(type, compute_type)));
    if (it == machine.peak_tflops.end()) return {.rate = {}, .missing = type};
    const FlopPerSecond rate = tera_flop_per_second(it->second);
    peak.rate = peak.rate.value > 0 ? std::min(peak.rate, rate) : rate;
  }
  return peak;
}

Outcome predict_gemm(const read::Op& op, const read::Machine& machine) {
  double size[3] = {};
  for (std::size_t i = 0; const char* name : {"m", "n", "k"}) {
    const auto value = op.get<std::int64_t>(name);
    if (!value) return Outcome::none(fmt::format("gemm without {}", name));
    if (*value == 0) return Outcome::none(fmt::format("gemm with {} = 0", name));
    size[i++] = static_cast<double>(*value);
  }
  const auto [m, n, k] = size;
  const auto batch = static_cast<double>(op.get<std::int64_t>("batch").value_or(1));
  if (batch == 0) return Outcome::none("gemm with batch = 0");

  std::string types[3];
  double bytes[3] = {};
  for (std::size_t i = 0; const char* name : {"a_type", "b_type", "c_type"}) {
    const auto type = op.get<std::string>(name);
    if (!type) return Outcome::none(fmt::format("gemm without {}", name));
    const auto width = number_type_bytes(*type);
    if (!width) return Outcome::none(fmt::format("unknown number type {}", *type));
    types[i] = *type;
    bytes[i++] = *width;
  }
  const Peak peak =
      find_peak(machine, types[0], types[1], op.get<std::string>("compute_type").value_or(""));
  if (!peak.missing.empty()) {
    return Outcome::none(fmt::format("{} has no peak for {}", machine.id, peak.missing));
  }

  const Flop work{2.0 * batch * m * n * k};
  const Bytes traffic{batch * (m * k * bytes[0] + k * n * bytes[1] + m * n * bytes[2])};
  return {slowest_of(work / (machine.gemm_fraction * peak.rate),
                     traffic / sustained_bandwidth(machine), microseconds(machine.launch_floor_us)),
          ""};
}

Outcome predict_memory(const read::Op& op, const read::Machine& machine) {
  const auto read_bytes = op.get<std::int64_t>("read_bytes");
  const auto write_bytes = op.get<std::int64_t>("write_bytes");
  if (!read_bytes && !write_bytes) return Outcome::none("memory without read_bytes or write_bytes");
  const Bytes traffic{static_cast<double>(read_bytes.value_or(0)) +
                      static_cast<double>(write_bytes.value_or(0))};
  if (traffic == Bytes{0}) return Outcome::none("memory of 0 bytes");
  return {slowest_of(Seconds{0}, traffic / sustained_bandwidth(machine),
                     microseconds(machine.launch_floor_us)),
          ""};
}

}  // namespace

Outcome predict_roofline(const read::Op& op, const read::Machine& machine) {
  const auto kind = op_kind_from_name(op.kind);
  if (!kind) return Outcome::none(fmt::format("unknown kind of operation {}", op.kind));
  Outcome outcome;
  if (*kind == OpKind::kGemm) {
    outcome = predict_gemm(op, machine);
  } else if (*kind == OpKind::kMemory) {
    outcome = predict_memory(op, machine);
  } else {
    return Outcome::none(fmt::format("no model for {}", op.kind));
  }
  // A machine file may hold any positive number: 1e-320 TFLOP/s take for ever, 1e305 no time.
  if (outcome.prediction) {
    const double seconds = outcome.prediction->time.value;
    if (!std::isfinite(seconds) || !(seconds > 0)) {
      return Outcome::none(fmt::format("{} would take {:g} s", machine.id, seconds));
    }
  }
  return outcome;
}

}  // namespace inline_prof::model
