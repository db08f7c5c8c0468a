// SEER's parameters from its tables, and decision trees from samples.
#pragma once

#include "fit/fits.hpp"
#include "fit/least_squares.hpp"
#include "model/published/seer/parameters.hpp"
#include "read/seer_tables.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::fit {

enum class TreeKind : std::uint8_t {
  kClass,       // values are small integers >= 0; leaves answer the most frequent one
  kRegression,  // leaves answer the mean
};

struct TreeSample {
  std::vector<double> features;
  double value = 0.0;
};

struct TreeOptions {
  std::size_t max_splits = 64;
  std::size_t min_parent_rows = 10;  // smaller nodes are leaves
  std::size_t min_leaf_rows = 1;     // no split leaves fewer on either side
};

// A tree by CART: nodes are split in layers, breadth first, each where the impurity falls most
// (Gini's for classes, the squared deviation for a regression).  Ties go to the first feature, then
// to the smallest threshold, and where a layer would exceed `max_splits` to the nodes that gain
// most. The same samples give the same tree.
//
// Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees",
// Wadsworth, 1984; the limits and the order are those of MATLAB's fitctree and fitrtree as SEER
// calls them.
//
// Throws std::invalid_argument for no samples or rows of different length.
[[nodiscard]] model::seer::Tree fit_tree(std::span<const TreeSample> samples, TreeKind kind,
                                         const TreeOptions& options = {});

// `options` with the min_leaf_rows among 1, 2, 4 ... that predicts best in five-fold
// cross-validation (row r is in fold r mod 5); ties go to the larger one.  SEER has a Bayesian
// search for it whose outcome depends on the clock.
[[nodiscard]] TreeOptions tune_tree(std::span<const TreeSample> samples, TreeKind kind,
                                    TreeOptions options = {});

// Tables by the model that they train, which is how their files are called: "algo0_32x32" ...,
// "algo2_pre", "algo4_16" ..., "algo5", "algo5-ctree", "Other-ops-maxpool" and so on.
struct SeerTables {
  std::map<std::string, std::vector<read::SeerSample>, std::less<>> variants;
  std::map<std::string, std::vector<read::SeerTimedLayer>, std::less<>> timed;
  std::map<std::string, std::vector<read::SeerOperatorRow>, std::less<>> operators;
};

// Reads one more table; `model` says what it holds (model::seer::model_of_file).
// Throws read::InputError; for a name that belongs to no model too.
void add_seer_table(SeerTables& tables, const read::Table& table, std::string_view model);

// SEER's rule for keeping rows aside: row r, from 0, trains if r mod 10 < 7.  The rows of
// algorithms 0, 1 and 2 are sorted by time before; its program loses the fastest of them on the
// way, which is done here too if `loses_fastest`.
struct SeerSplit {
  std::vector<read::SeerSample> train;
  std::vector<read::SeerSample> test;
};
[[nodiscard]] SeerSplit split_seer_samples(std::vector<read::SeerSample> samples,
                                           bool loses_fastest);

struct SeerFitOptions {
  // A type of which there are fewer rows than coefficients + 2: SEER leaves ones where there is no
  // row, and fits what there is otherwise.  Ours leaves the type out, and gives the variant a model
  // of all its rows to stand in.
  bool keeps_sparse_types = false;
  Sign sign = Sign::kAny;
  bool tunes_trees = false;  // smallest leaves by cross-validation, else of one row
};

// How well one set of coefficients does on the rows that it was fitted to.
struct SeerFitQuality {
  std::string model;
  std::string kind;
  std::size_t rows = 0;
  double rmspe = 0.0;
};

struct SeerFit {
  model::seer::Parameters parameters;
  std::vector<SeerFitQuality> quality;
};

// Throws std::invalid_argument if there are no tables.
[[nodiscard]] SeerFit fit_seer(const SeerTables& tables, const SeerFitOptions& options = {});

}  // namespace inline_prof::fit
