// Curves by name: those that were published, and those of a parameter file.
#pragma once

#include "model/published/collective/curve.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::collective {

struct NamedCurve {
  std::string name;        // "all_reduce_8"
  std::string collective;  // "all_reduce"
  std::int64_t ranks = 0;  // 0: not said
  Curve curve;
};

// The curves that were published with numbers: device memory of five GPUs ("dram_V100" ...) and
// collectives on V100s ("v100_all_reduce_8" ...).
[[nodiscard]] std::span<const NamedCurve> published_curves();

// From a table with the columns curve, mul_factor, ln_p, sats_p, max_bw, overhead_us, L, x0, k, b
// and, if they are there, collective and num_gpus; or from parameters that `prof-model fit` wrote.
// Throws read::InputError with file and line; rows that lack numbers (a fit that failed) are left
// out and named in `warnings`.
[[nodiscard]] std::vector<NamedCurve> read_curves(const std::filesystem::path& file,
                                                  std::vector<std::string>& warnings);

// The text of a parameter file that read_curves() reads.  It was fitted on `rows` rows.
[[nodiscard]] std::string curves_text(std::span<const NamedCurve> curves, std::string_view machine,
                                      std::int64_t rows);

}  // namespace inline_prof::model::collective
