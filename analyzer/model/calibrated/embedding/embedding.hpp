// The calibrated model of embedding look-ups and their gradients (README.md beside this file).
#pragma once

#include "model/model.hpp"
#include "read/machine.hpp"
#include "read/table.hpp"

#include <Eigen/Core>

#include <optional>
#include <string_view>

namespace inline_prof::model {

[[nodiscard]] ModelEntry embedding_entry();

// Which rows of a table are asked for how often, and how many of the requests a cache serves.
// Rows of about the same probability, taken together: sums over millions of rows become sums over
// a few hundred classes.
class IndexDistribution {
 public:
  // Makes a distribution in which the i-th most frequent of `rows` rows has a probability like
  // i^-alpha (Zipf); alpha = 0 is uniform.  The first 64 ranks are classes of their own; further
  // ones grow by 5 % each, within which the probability changes by less than alpha * 5 %.
  [[nodiscard]] static IndexDistribution zipf(double rows, double alpha);

  // From a table with a column `accesses` and, where a line stands for several rows, `rows`. Throws
  // read::InputError.
  [[nodiscard]] static IndexDistribution histogram(const read::Table& table);

  [[nodiscard]] double rows() const { return counts_.sum(); }
  // Returns the probability of the most frequent row.
  [[nodiscard]] double highest_probability() const { return probabilities_.maxCoeff(); }

  // Returns the expected number of different rows among `requests` independent ones:
  // sum_i 1 - (1 - p_i)^requests.
  [[nodiscard]] double unique_rows(double requests) const;

  // Returns the share of `requests` requests, from a cold start, that find their row among the
  // `capacity` rows used last.  H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems:
  // Modeling, Design and Experimental Results", IEEE JSAC 20(7), 2002,
  // doi:10.1109/JSAC.2002.801752: a row stays for the same time tau, with sum_i 1 - exp(-p_i tau) =
  // capacity.  Until tau requests have been made nothing is evicted (ours): hits are then requests
  // less different rows.
  [[nodiscard]] double hit_rate(double requests, double capacity) const;

 private:
  IndexDistribution(Eigen::ArrayXd probabilities, Eigen::ArrayXd counts);

  // Returns the rows that are asked for at least once in `requests` requests, as a Poisson process.
  [[nodiscard]] double touched(double requests) const;
  [[nodiscard]] double stay(double capacity) const;

  Eigen::ArrayXd probabilities_;  // of one row of a class
  Eigen::ArrayXd counts_;         // rows of a class
};

enum class EmbeddingPass { kForward, kBackwardSgd, kBackwardRowwiseAdagrad };

// As prof.json spells it; empty for another word.
[[nodiscard]] std::optional<EmbeddingPass> embedding_pass(std::string_view name);

struct EmbeddingShape {
  double batch = 1;  // bags of a table
  double tables = 1;
  double rows = 1;  // of a table
  double bag = 1;   // look-ups of a bag
  double dim = 1;   // elements of a row
  double element_bytes = 4;
  EmbeddingPass pass = EmbeddingPass::kForward;
  std::optional<double> cached_rows;  // of a table in L2; empty: what fits
};

struct EmbeddingTime {
  double time_us = 0;
  double unique_rows = 0;  // of a table
  double cached_rows = 0;
  double hit_rate = 0;
  double dram_bytes = 0;
  double l2_bytes = 0;
  double sort_us = 0;
  double latency_us = 0;
  std::string_view bound;  // "memory", "l2", "latency" or "launch"
};

// Rows are read from DRAM where the L2 no longer has them, in sectors of 32 bytes; what all bags
// read passes through the L2.  The share of hits comes from the distribution of the indices
// (IndexDistribution::hit_rate).  The constants come from vendors and literature, not from a fit:
// no timings of single embedding kernels are public.  So there is no interval.
// Throws std::invalid_argument where `machine` lacks the size of its L2.
[[nodiscard]] EmbeddingTime predict_embedding(const EmbeddingShape& shape,
                                              const IndexDistribution& indices,
                                              const read::Machine& machine);

}  // namespace inline_prof::model
