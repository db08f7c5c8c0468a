// A case: an operation that is timed alone on a GPU.
#pragma once

#include "read/op.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace inline_prof::measure {

// Contents of the L2 when the work begins: those that the same work left there, or nothing of it.
enum class L2State : std::uint8_t { kWarm, kCold };

// Work of the GPU before: nothing that takes much power, or the same work for a while.
enum class Load : std::uint8_t { kBurst, kSustained };

struct Case {
  std::string table;  // that its row goes to, "gemm", "gemm.cold" or "gemm.sustained"
  read::Op op;        // kind "rows", "bandwidth" or "floor" where prof.json has no word for it
  L2State l2 = L2State::kWarm;
  Load load = Load::kBurst;
};

// A case that cannot be timed here; the text says why.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Return attributes of an operation; throw Skipped if they are absent or of another type.
[[nodiscard]] std::int64_t integer(const read::Op& op, std::string_view name);
[[nodiscard]] std::int64_t integer_or(const read::Op& op, std::string_view name,
                                      std::int64_t otherwise);
[[nodiscard]] std::string text_or(const read::Op& op, std::string_view name,
                                  std::string_view otherwise);
[[nodiscard]] bool is_set(const read::Op& op, std::string_view name);
[[nodiscard]] double number_or(const read::Op& op, std::string_view name, double otherwise);

}  // namespace inline_prof::measure
