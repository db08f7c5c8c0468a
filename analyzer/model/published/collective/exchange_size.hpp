// How many bytes an uneven all-to-all is taken to move: the exchange of embedding rows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inline_prof::model::collective {

// A batch, the tables on each rank and the elements of a row: "4096,11-19-15-20,32".
struct EmbeddingExchange {
  std::int64_t batch = 0;  // of all ranks together
  std::vector<std::int64_t> tables;
  std::int64_t dim = 0;
};

// Throws std::invalid_argument with what was expected.
[[nodiscard]] EmbeddingExchange parse_exchange(std::string_view text);

// Bytes in fp32, b = floor(batch / ranks) samples a rank, S tables in all:
//   sum          b * S * dim * 4
//   max_of_max   b * dim * 4 * max over ranks of max(S - t, t * (ranks - 1))     received, or sent
//   max_of_sum   b * dim * 4 * max over ranks of ((S - t) + t * (ranks - 1))     both
// `ranks` is the configured number; the tables may be given for fewer or more, as in the original.
// Source: ml_perf_model at 5b2522a, notebook comm_bench.
struct ExchangeBytes {
  double sum = 0.0;
  double max_of_max = 0.0;
  double max_of_sum = 0.0;
};

// Throws std::invalid_argument if ranks < 1.
[[nodiscard]] ExchangeBytes exchange_bytes(const EmbeddingExchange& exchange, std::int64_t ranks);

}  // namespace inline_prof::model::collective
