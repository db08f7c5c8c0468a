// The first stage: one file's events as measured rows.
#pragma once

#include "join/rows/event_bias.hpp"
#include "join/rows/row.hpp"
#include "read/layers.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

// Samples of the events of one file, in as little memory as a thousand ranks leave for it.  What an
// event pair measured is a float of milliseconds (CUDA Runtime API 13.0, cudaEventElapsedTime), so
// nothing is lost by keeping it as one.
class Samples {
 public:
  // Adds the samples of the next event.
  void add(const read::Event& event, const EventBias& bias);

  // Appends to `raw_us` the samples of event `i` as they were measured, and to `unbiased_us` less
  // their bias.
  void append_us(std::size_t i, std::vector<double>& raw_us,
                 std::vector<double>& unbiased_us) const;

  // Returns the samples of event `i` as they were measured.
  [[nodiscard]] std::span<const float> measured_ms(std::size_t i) const;
  // Returns what is taken off each of them, or one value if it is the same for all.
  [[nodiscard]] std::span<const float> bias_us(std::size_t i) const;

  void shrink();

 private:
  std::vector<float> measured_ms_;
  std::vector<std::uint32_t> ends_;  // of each event, in measured_ms_
  std::vector<float> bias_us_;       // of each sample, or one for all those of an event
  std::vector<std::uint32_t> bias_ends_;
};

// The samples of all files.
class SamplesOfRuns {
 public:
  // Adds the next file, whose first event is row `first_row` of all.
  void add(Samples samples, std::size_t first_row);
  // Forgets run `run`, which has `rows` rows.
  void leave_out(std::size_t run, std::size_t rows);
  // As above, of row `row`, which is one of run `run`.
  [[nodiscard]] std::span<const float> measured_ms(std::size_t run, std::size_t row) const {
    return samples_[run].measured_ms(row - first_rows_[run]);
  }
  [[nodiscard]] std::span<const float> bias_us(std::size_t run, std::size_t row) const {
    return samples_[run].bias_us(row - first_rows_[run]);
  }
  void append_us(std::size_t run, std::size_t row, std::vector<double>& raw_us,
                 std::vector<double>& unbiased_us) const;

 private:
  std::vector<Samples> samples_;
  std::vector<std::size_t> first_rows_;
};

struct FileRows {
  Run run;                // with its events
  std::vector<Row> rows;  // one for each event; parents are indices into these
  Samples samples;        // of each row

  std::string bias_source;
  std::string bias_detail;
  std::vector<double> kernel_floors_us;
  std::size_t dropped_offsets = 0;
  std::size_t shorter_than_bias = 0;  // rows
  std::vector<std::string> warnings;
};

// Rows do not know the file's place among the runs yet.
[[nodiscard]] FileRows rows_of(read::Profile profile, const std::optional<read::Layers>& layers,
                               const BiasSetting& event_bias);

// Returns a row for each event, with its layer and parent and without times.
[[nodiscard]] std::vector<Row> nested_rows(const read::Profile& profile);

// Returns the blocks of the one kernel that the event launches; 0 if there are several.
[[nodiscard]] double blocks_of(const read::Event& event);

}  // namespace inline_prof::join
