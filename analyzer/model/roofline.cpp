#include "model/roofline.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace inline_prof::model {
namespace {

// The attributes of one operation; remembers the first one that is missing or wrong.
class Attributes {
 public:
  explicit Attributes(const read::Op& op) : op_(op) {}

  double size(const char* name) {
    const auto value = op_.get<std::int64_t>(name);
    if (!value) return complain(fmt::format("{} without {}", op_.kind, name));
    return positive(name, *value);
  }
  double size_or(const char* name, double otherwise) {
    const auto value = op_.get<std::int64_t>(name);
    return value ? positive(name, *value) : otherwise;
  }
  // One number, or a list of one for each dimension.
  std::array<double, 2> sides(const char* name, double otherwise) {
    const auto list = op_.get<std::vector<std::int64_t>>(name);
    if (!list) {
      const auto value = op_.get<std::int64_t>(name);
      const double side = value ? static_cast<double>(*value) : otherwise;
      return {side, side};
    }
    if (list->size() != 2) {
      complain(fmt::format("{} with {} of {} dimensions", op_.kind, name, list->size()));
      return {otherwise, otherwise};
    }
    return {static_cast<double>((*list)[0]), static_cast<double>((*list)[1])};
  }
  // Bytes of an element of the type, which is one of the operands where a product reads it.
  double element(const char* name, std::vector<std::string>* operands) {
    const auto type = op_.get<std::string>(name);
    if (!type) return complain(fmt::format("{} without {}", op_.kind, name));
    const auto bytes = number_type_bytes(*type);
    if (!bytes) return complain(fmt::format("unknown number type {}", *type));
    if (operands != nullptr) operands->push_back(*type);
    return *bytes;
  }
  // A word for which there is no other meaning than going forward is no pass of these kinds.
  bool is_backward() {
    const auto pass = op_.get<std::string>("pass");
    if (pass && *pass != "forward" && *pass != "backward") {
      complain(fmt::format("{} with unknown pass {}", op_.kind, *pass));
    }
    return pass == "backward";
  }
  [[nodiscard]] bool is_set(const char* name) const {
    return op_.get<bool>(name).value_or(op_.get<std::int64_t>(name).value_or(0) != 0);
  }
  [[nodiscard]] const read::Op& op() const { return op_; }

  double complain(std::string what) {
    if (reason_.empty()) reason_ = std::move(what);
    return 0;
  }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  double positive(const char* name, std::int64_t value) {
    if (value < 1) return complain(fmt::format("{} with {} = {}", op_.kind, name, value));
    return static_cast<double>(value);
  }

  const read::Op& op_;
  std::string reason_;
};

OpWork product(Attributes& attributes) {
  OpWork work;
  const double m = attributes.size("m"), n = attributes.size("n"), k = attributes.size("k");
  const double batch = attributes.size_or("batch", 1);
  const double a = attributes.element("a_type", &work.operands);
  const double b = attributes.element("b_type", &work.operands);
  const double c = attributes.element("c_type", nullptr);
  work.flops = {2 * batch * m * n * k};
  work.traffic = {batch * (m * k * a + k * n * b + m * n * c)};
  work.compute_type = attributes.op().get<std::string>("compute_type").value_or("");
  return work;
}

// m_total rows, shared out over the groups, each of which has a B of its own.
OpWork grouped_product(Attributes& attributes) {
  OpWork work;
  const double groups = attributes.size("groups"), m = attributes.size("m_total");
  const double n = attributes.size("n"), k = attributes.size("k");
  const double a = attributes.element("a_type", &work.operands);
  const double b = attributes.element("b_type", &work.operands);
  const double c = attributes.element("c_type", nullptr);
  work.flops = {2 * m * n * k};
  work.traffic = {m * k * a + groups * k * n * b + m * n * c};
  work.compute_type = attributes.op().get<std::string>("compute_type").value_or("");
  return work;
}

// As a matrix product, the same in every direction.
OpWork convolution(Attributes& attributes) {
  OpWork work;
  const double n = attributes.size("n"), c = attributes.size("c"), h = attributes.size("h"),
               w = attributes.size("w"), k = attributes.size("k"), r = attributes.size("r"),
               s = attributes.size("s");
  const double groups = attributes.size_or("groups", 1);
  const auto stride = attributes.sides("stride", 1), pad = attributes.sides("pad", 0),
             dilation = attributes.sides("dilation", 1);
  const auto output = [&](double size, double filter, std::size_t side) {
    if (stride[side] < 1) return attributes.complain("conv with stride < 1");
    const double reach = dilation[side] * (filter - 1) + 1;
    const double last = (size + 2 * pad[side] - reach) / stride[side];
    if (last < 0) return attributes.complain("conv with a filter beyond its padded image");
    return static_cast<double>(static_cast<std::int64_t>(last)) + 1;
  };
  const double p = attributes.size_or("p", output(h, r, 0));
  const double q = attributes.size_or("q", output(w, s, 1));
  const double element = attributes.element("type", &work.operands);
  work.flops = {2 * n * k * p * q * (c / groups) * r * s};
  work.traffic = {element * (n * c * h * w + k * (c / groups) * r * s + n * k * p * q)};
  work.compute_type = attributes.op().get<std::string>("compute_type").value_or("");
  return work;
}

// Scores and values are two products of q_len x kv_len x head_dim a head, their gradients five (one
// of them the scores again).  T. Dao, "FlashAttention-2: Faster Attention with Better Parallelism
// and Work Partitioning", 2023, arXiv:2307.08691, section 4.1.  Scores never go to memory.
OpWork attention(Attributes& attributes) {
  OpWork work;
  const double batch = attributes.size("batch"), heads = attributes.size("heads"),
               q_len = attributes.size("q_len"), kv_len = attributes.size("kv_len"),
               dim = attributes.size("head_dim");
  const double kv_heads = attributes.size_or("kv_heads", heads);
  const double element = attributes.element("type", &work.operands);
  const bool is_backward = attributes.is_backward();
  const double kv_element =
      attributes.op().find("kv_type") == nullptr ? element : attributes.element("kv_type", nullptr);
  const auto asked = attributes.op().get<std::int64_t>("window").value_or(0);  // 0: none
  const double window = asked > 0 ? std::min(kv_len, static_cast<double>(asked)) : kv_len;
  // Causal: the last query sees every key, each one before it a key less, and none more than the
  // window.
  const double seen_by_first = std::min(window, std::max(1.0, kv_len - q_len + 1));
  const double queries = std::min(q_len, kv_len);       // that see anything
  const double before_window = window - seen_by_first;  // queries that see fewer keys
  const double pairs = attributes.is_set("causal")
                           ? queries * window - before_window * (before_window + 1) / 2
                           : q_len * window;
  work.flops = {(is_backward ? 5 : 2) * 2 * batch * heads * pairs * dim};
  // Queries and outputs, keys and values; backward the gradients of all, too.
  const double tensors = is_backward ? 4 : 2;
  const double keys = std::min(kv_len, window + q_len - 1);  // that any query sees
  work.traffic = {tensors * batch * dim * (element * heads * q_len + kv_element * kv_heads * keys)};
  return work;
}

// One tensor in, one out; backward a second one in: the gradient.
OpWork row_wise(Attributes& attributes) {
  OpWork work;
  const double rows = attributes.size("rows"), cols = attributes.size("cols");
  const double element = attributes.element("type", nullptr);
  work.traffic = {(attributes.is_backward() ? 3 : 2) * element * rows * cols};
  return work;
}

OpWork movement(Attributes& attributes) {
  OpWork work;
  const auto read_bytes = attributes.op().get<std::int64_t>("read_bytes");
  const auto write_bytes = attributes.op().get<std::int64_t>("write_bytes");
  if (!read_bytes && !write_bytes) attributes.complain("memory without read_bytes or write_bytes");
  work.traffic = {static_cast<double>(read_bytes.value_or(0)) +
                  static_cast<double>(write_bytes.value_or(0))};
  if (work.traffic == Bytes{0}) attributes.complain("memory of 0 bytes");
  work.flops = {static_cast<double>(attributes.op().get<std::int64_t>("flops").value_or(0))};
  return work;
}

// The bytes go through the device's memory, or over the link.
OpWork copy(Attributes& attributes) {
  OpWork work;
  const auto bytes = attributes.op().get<std::int64_t>("bytes");
  const std::string direction = attributes.op().get<std::string>("direction").value_or("");
  if (!bytes) {
    attributes.complain("copies of several sizes");
    return work;
  }
  if (*bytes < 1) attributes.complain(fmt::format("copy with bytes = {}", *bytes));
  if (direction == "wait_value")
    attributes.complain("a wait for a value lasts until it is written");
  // Read and written.
  const double passes = direction == "device_to_device" ? 2 : 1;
  work.traffic = {passes * static_cast<double>(*bytes)};
  return work;
}

// Bytes of a number after a cast by `recipe`, with its share of a scale, as torchao names them (see
// model/float8): one 8-bit scale for 32 numbers of mx..., for 16 of nv...; of other recipes the
// scales are too few to count.  Empty for a word that is none.
std::optional<double> cast_number_bytes(const std::string& recipe) {
  constexpr std::array<std::string_view, 4> plain_fp8{"tensorwise", "rowwise", "rowwise_with_gw_hp",
                                                      "blockwise_128"};
  if (std::ranges::find(plain_fp8, recipe) != plain_fp8.end()) return 1.0;
  if (recipe.starts_with("mxfp8")) return 1.0 + 1.0 / 32;
  if (recipe.starts_with("mxfp4")) return 0.5 + 1.0 / 32;
  if (recipe.starts_with("nvfp4")) return 0.5 + 1.0 / 16;
  return std::nullopt;
}

// A 16-bit tensor in, one of 8 or 4 bits out.  A recipe may need more passes, or the result in two
// orders; this is what none can do without.
OpWork cast(Attributes& attributes) {
  constexpr double bytes_before = 2;
  OpWork work;
  const double rows = attributes.size("rows"), cols = attributes.size("cols");
  const auto recipe = attributes.op().get<std::string>("recipe");
  const auto bytes_after = recipe ? cast_number_bytes(*recipe) : std::nullopt;
  if (!bytes_after) {
    attributes.complain(recipe ? fmt::format("cast with unknown recipe {}", *recipe)
                               : "cast without recipe");
  }
  work.traffic = {rows * cols * (bytes_before + bytes_after.value_or(0))};
  return work;
}

OpWork work_of_kind(OpKind kind, Attributes& attributes) {
  switch (kind) {
    case OpKind::kGemm:
      return product(attributes);
    case OpKind::kGroupedGemm:
      return grouped_product(attributes);
    case OpKind::kConv:
      return convolution(attributes);
    case OpKind::kAttention:
      return attention(attributes);
    case OpKind::kNorm:
    case OpKind::kSoftmax:
      return row_wise(attributes);
    case OpKind::kMemory:
      return movement(attributes);
    case OpKind::kCopy:
      return copy(attributes);
    case OpKind::kCast:
      return cast(attributes);
    case OpKind::kEmbedding:
    case OpKind::kCollective:
    case OpKind::kOperator:
    case OpKind::kRegion:
      break;
  }
  attributes.complain(fmt::format("no model for {}", attributes.op().kind));
  return {};
}

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

constexpr const char* kCopies = "copies";  // what reports call it

// The part of a data sheet's bandwidth that large copies reach, and the 90 % interval of it.  Not
// fitted: the ends are those of published runs.
struct Reached {
  double usual;
  double least;
  double most;
};

// 0.75 to 0.85 on RTX 4090 (github.com/NVIDIA/nvbandwidth, issue 15, 2024), 0.78 on A100
// (forums.developer.nvidia.com, topic 352186, 2025), 0.87 on H100 (NVIDIA, nvbandwidth's blog
// post, 2025), copy engines, pinned memory.
constexpr Reached kHostLink{.usual = 0.80, .least = 0.70, .most = 0.90};
// Ranks of one host share its links: two GPUs a switch (NVIDIA, DGX-1 and DGX A100 system
// architecture white papers), all of them the processors' memory, and each may copy or not: 0.24 of
// the link on A100, 0.39 on V100 (tests/data/real_traces).
constexpr Reached kSharedHostLink{.usual = 0.31, .least = 0.20, .most = 0.90};
// NVLink: 0.84 on H100 (github.com/NVIDIA/nccl, issue 1264, 2024), 0.80 on A100
// (github.com/NVIDIA/nccl-tests, issue 149, 2023); PCIe: 0.68 to 0.82 on RTX A6000
// (github.com/NVIDIA/nvbandwidth, issue 50, 2025).
constexpr Reached kPeerLink{.usual = 0.80, .least = 0.65, .most = 0.90};
// Read and written: 0.77 on H100 (github.com/NVIDIA/nccl, issue 1264, 2024: 2573 of 3350 GB/s).
constexpr Reached kMemory{.usual = 0.80, .least = 0.65, .most = 0.95};
// Source and destination may lie in L2 if they fit, which is this much faster than the memory.
constexpr double kL2Gain = 3;

// Factors of the least time that a kernel is predicted to take: a copy is one command to an engine
// of its own, or a kernel of the driver's.
constexpr double kLeastLatency = 0.5;
constexpr double kMostLatency = 3;
constexpr double kFillLatency = 0.5;
// Copies inside the memory that are long and no whole pages take so much longer: 3 to 12 us on
// V100, 4 us on B200 (tests/data/real_traces).
constexpr double kBrokenPageUs = 4;
constexpr std::int64_t kPageBytes = 4096, kLongBytes = 1 << 21;

struct Way {
  std::optional<double> gb_per_s;
  const char* missing = "";  // what the machine does not say
  Reached reached{};
  Bound bound = Bound::kLink;
};

std::optional<Way> way_of(const std::string& direction, bool is_shared,
                          const read::Machine& machine) {
  if (direction == "host_to_device" || direction == "device_to_host")
    return Way{machine.host_link_gb_per_s, "host_link_gb_per_s",
               is_shared ? kSharedHostLink : kHostLink, Bound::kLink};
  if (direction == "peer")
    return Way{machine.peer_link_gb_per_s, "peer_link_gb_per_s", kPeerLink, Bound::kLink};
  if (direction == "device_to_device" || direction == "fill" || direction == "write_value")
    return Way{machine.memory_gb_per_s, "memory_gb_per_s", kMemory, Bound::kMemory};
  return std::nullopt;
}

}  // namespace

OpWork work_of(const read::Op& op) {
  OpWork work;
  const auto kind = op_kind_from_name(op.kind);
  if (!kind) {
    work.reason = fmt::format("unknown kind of operation {}", op.kind);
    return work;
  }
  Attributes attributes(op);
  work = work_of_kind(*kind, attributes);
  work.reason = attributes.reason();
  return work;
}

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

std::optional<Seconds> time_at_peak(const read::Op& op, const read::Machine& machine) {
  const OpWork work = work_of(op);
  if (!work.reason.empty() || work.operands.empty() || !(work.flops.value > 0)) return {};
  const Peak peak = find_peak(machine, work);
  if (!peak.missing.empty() || !(peak.rate.value > 0)) return {};
  return work.flops / peak.rate;
}

Prediction least_time(const read::Op& op, const read::Machine& machine) {
  const OpWork work = work_of(op);
  if (!work.reason.empty()) return {};
  const double in_l2 = std::min(work.traffic.value, 1e6 * machine.l2_mb.value_or(0.0));
  const Bytes moved{work.traffic.value - in_l2 * (1 - 1 / kL2Gain)};
  const bool is_conv = op.kind == op_kind_name(OpKind::kConv);
  return slowest_of(is_conv ? Seconds{0} : time_at_peak(op, machine).value_or(Seconds{0}),
                    moved / giga_bytes_per_second(machine.memory_gb_per_s), Seconds{0});
}

Outcome predict_copy(const read::Op& op, const read::Machine& machine) {
  const OpWork work = work_of(op);
  if (!work.reason.empty()) return Outcome::none(work.reason);
  const std::string direction = op.get<std::string>("direction").value_or("");
  if (direction == "host_to_host") return Outcome::none("the host's memory has no model");
  const auto way = way_of(direction, op.get<std::int64_t>("ranks").value_or(1) > 1, machine);
  if (!way) {
    return Outcome::none(direction.empty() ? "copy without direction"
                                           : fmt::format("copy with direction {}", direction));
  }
  if (!way->gb_per_s) return Outcome::none(fmt::format("{} has no {}", machine.id, way->missing));
  const double move_us = work.traffic.value / (*way->gb_per_s * 1e3);
  // The driver's own kernel for fills is the shortest that there is.
  double latency_us = (direction == "fill" ? kFillLatency : 1) * machine.launch_floor_us;
  const std::int64_t bytes = op.get<std::int64_t>("bytes").value_or(0);
  if (direction == "device_to_device" && bytes > kLongBytes && bytes % kPageBytes != 0)
    latency_us += kBrokenPageUs;
  Prediction prediction;
  prediction.time = microseconds(latency_us + move_us / way->reached.usual);
  prediction.bound = move_us / way->reached.usual > latency_us ? way->bound : Bound::kLaunch;
  prediction.model = kCopies;
  if (!std::isfinite(prediction.time.value) || !(prediction.time.value > 0)) {
    return Outcome::none(fmt::format("{} would take {:g} s", machine.id, prediction.time.value));
  }
  // The host's processor moves it to memory that the device can read, at a rate that nobody knows.
  if (op.get<std::string>("host_memory") == "pageable") return {prediction, ""};
  const bool may_be_in_l2 =
      way->bound == Bound::kMemory && machine.l2_mb && work.traffic.value <= *machine.l2_mb * 1e6;
  const double least_move_us = move_us / way->reached.most / (may_be_in_l2 ? kL2Gain : 1);
  prediction.interval90 = {microseconds(kLeastLatency * latency_us + least_move_us),
                           microseconds(kMostLatency * latency_us + move_us / way->reached.least)};
  return {prediction, ""};
}

}  // namespace inline_prof::model
