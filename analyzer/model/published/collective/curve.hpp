// Time of a collective from one measured bandwidth curve, the three sections of Lin et al.; curves
// by name; and how many bytes an uneven all-to-all is taken to move.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::collective {

// Returns the factor between the bandwidth that an application sees (bytes / time) and the one that
// the links carry, as the original has it; empty where it ends with a KeyError (gather, scatter,
// broadcast, sendrecv).  Words as PARAM writes them: "all_reduce", "all_to_allv".
[[nodiscard]] std::optional<double> bus_factor(std::string_view collective, double ranks);

// log10 of the bus bandwidth over x = log2(bytes): height / (1 + exp(-slope * (x - centre))) +
// base.
struct Sigmoid {
  double height = 0.0;
  double centre = 0.0;
  double slope = 0.0;
  double base = 0.0;

  [[nodiscard]] double at(double x) const;
};

enum class Section { kLatency, kSigmoid, kSaturated };

// A curve for one collective on one number of ranks: README.md beside this file.  It jumps at both
// borders: just above the first one the time may be less than the overhead, and the overhead comes
// back only above the second one.
struct Curve {
  double bus_factor = 1.0;
  double linear_until = 0.0;    // log2 of bytes
  double saturated_from = 0.0;  // log2 of bytes
  double max_bus_gb_per_s = 0.0;
  double overhead_us = 0.0;
  Sigmoid sigmoid;

  [[nodiscard]] Section section(double bytes) const;
  [[nodiscard]] double bus_gb_per_s(double bytes) const;
  [[nodiscard]] double time_us(double bytes) const;
};

struct NamedCurve {
  std::string name;        // "all_reduce_8"
  std::string collective;  // "all_reduce"
  std::int64_t ranks = 0;  // 0: not said
  Curve curve;
};

// Returns the curves that were published with numbers: device memory of five GPUs ("dram_V100" ...)
// and collectives on V100s ("v100_all_reduce_8" ...).
[[nodiscard]] std::span<const NamedCurve> published_curves();
// Returns the curve of a GPU's device memory: "A100", "V100", "GV100", "Xp" or "P100".
[[nodiscard]] const Curve& memory_curve(std::string_view gpu);

// From a table with the columns curve, mul_factor, ln_p, sats_p, max_bw, overhead_us, L, x0, k, b
// and, if they are there, collective and num_gpus; or from parameters that `prof-model fit` wrote.
// Throws read::InputError with file and line; rows that lack numbers (a fit that failed) are left
// out and named in `warnings`.
[[nodiscard]] std::vector<NamedCurve> read_curves(const std::filesystem::path& file,
                                                  std::vector<std::string>& warnings);

// Returns the text of a parameter file that read_curves() reads.  It was fitted on `rows` rows.
[[nodiscard]] std::string curves_text(std::span<const NamedCurve> curves, std::string_view machine,
                                      std::int64_t rows);

// Bytes in fp32: README.md beside this file.
struct ExchangeBytes {
  double sum = 0.0;
  double max_of_max = 0.0;
  double max_of_sum = 0.0;
};

// `text`: the batch of all ranks together, the tables on each rank and the elements of a row,
// "4096,11-19-15-20,32".  `ranks` is the configured number; the tables may be given for fewer or
// more, as in the original.  Throws std::invalid_argument with what was expected.
[[nodiscard]] ExchangeBytes exchange_bytes(std::string_view text, std::int64_t ranks);

}  // namespace inline_prof::model::collective
