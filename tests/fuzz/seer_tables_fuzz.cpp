// SEER's tables and lists of layers: what is accepted is a layer, with numbers in their ranges.
#include "property.hpp"
#include "read/seer_tables.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace {

using namespace inline_prof;

void require_layer(const read::SeerLayer& layer) {
  fuzz::require(layer.batch > 0 && layer.in_channels > 0 && layer.in_width > 0 &&
                    layer.out_channels > 0 && layer.filter_width > 0 && layer.stride > 0 &&
                    layer.padding >= 0,
                "a layer has sizes");
  fuzz::require(read::seer_out_width(layer) >= 0, "a layer has an output of 0 or more");
}

void require_algorithm(std::int64_t algorithm) {
  fuzz::require(algorithm >= 0 && algorithm < 8, "cuDNN has eight algorithms");
}

void read_samples(const read::Table& table) {
  for (const read::SeerSample& row : read::read_seer_samples(table)) {
    require_layer(row.layer);
    require_algorithm(row.algorithm);
    fuzz::require(std::isfinite(row.time_ms) && row.time_ms > 0, "a sample takes time");
    fuzz::require(std::isfinite(row.fp32_instructions) && std::isfinite(row.dram_reads) &&
                      std::isfinite(row.dram_writes),
                  "counts are finite");
    fuzz::require(row.resident_blocks > 0 && row.blocks > 0, "a launch has blocks");
    fuzz::require(row.type() >= 0 && row.type() <= 2, "there are three types");
  }
}

void read_timed(const read::Table& table) {
  for (const read::SeerTimedLayer& row : read::read_seer_timed_layers(table)) {
    require_layer(row.layer);
    require_algorithm(row.algorithm);
    fuzz::require(std::isfinite(row.value) && row.value >= 0, "a value is 0 or more");
  }
}

void read_picks(const read::Table& table) {
  for (const read::SeerPickRow& row : read::read_seer_picks(table)) {
    require_layer(row.layer);
    require_algorithm(row.best);
    require_algorithm(row.cudnn_pick);
    fuzz::require(row.time_ms[static_cast<std::size_t>(row.best)] > 0, "the best has a time");
  }
}

void read_operator(const read::Table& table) {
  for (const std::size_t count : {1U, 3U}) {
    for (const read::SeerOperatorRow& row : read::read_seer_operator(table, count)) {
      require_layer(row.layer);
      fuzz::require(row.values.size() == count, "a row has its values");
    }
  }
}

void read_layers(const read::Table& table) {
  for (const read::SeerLayer& layer : read::read_seer_layers(table))
    require_layer(layer);
}

}  // namespace

void fuzz::check(const std::string& text) {
  attempt([&] {
    for (const read::SeerLayer& layer : read::read_seer_layer_list(text, "fuzz"))
      require_layer(layer);
  });
  const read::Table table(text, "fuzz");
  for (auto* read_rows : {read_samples, read_timed, read_picks, read_operator, read_layers})
    attempt([&] { read_rows(table); });
}
