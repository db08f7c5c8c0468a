// SEER's parameters from its tables and from runs.
#pragma once

#include "fit/fits.hpp"
#include "fit/least_squares.hpp"
#include "fit/tree_fit.hpp"
#include "model/published/seer/parameters.hpp"
#include "read/seer_tables.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::fit {

// Measured rows by the model that they train.  SEER's own tables are called so: "algo0_32x32" ...,
// "algo2_pre", "algo4_16" ..., "algo5", "algo5-ctree"; "Other-ops-maxpool" and so on are
// operators', by whose names their rows stand here.
struct SeerTables {
  std::map<std::string, std::vector<read::SeerSample>, std::less<>> variants;
  // Milliseconds; a type in "algo5-ctree"; of a gradient the time over that of the forward pass.
  std::map<std::string, std::vector<read::SeerTimedLayer>, std::less<>> timed;
};

// Reads one more table; `model` says what it holds (model::seer::model_of_file).
// Throws read::InputError; for a name that belongs to no model too.
void add_seer_table(SeerTables& tables, const read::Table& table, std::string_view model);

// Reads measured operations in the model's own columns with time_us, as `prof-model` makes them of
// a run.  They tell times alone: the instructions and the traffic of a variant's blocks, and the
// kernels beside it, are taken from `prior`, without which its rows are left out.  Returns what was
// left out, a line each.  Throws read::InputError.
std::string add_seer_run(SeerTables& tables, const read::Table& table,
                         const model::seer::Parameters* prior, std::int64_t sm_count);

struct SeerFitOptions {
  // A type of which there are fewer rows than coefficients + 2: SEER leaves ones where there is no
  // row, and fits what there is otherwise.  Ours leaves the type out, and gives the variant a model
  // of all its rows to stand in.
  bool keeps_sparse_types = false;
  // Keeps the instructions, the trees and whatever else of it is not fitted; null: none.
  const model::seer::Parameters* prior = nullptr;
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
