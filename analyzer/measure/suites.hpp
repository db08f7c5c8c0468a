// Suites: the cases that are measured by default, one suite for each kind of work, a table for each
// suite; and the cases that a file asks for instead.
#pragma once

#include "measure/case.hpp"
#include "read/profile.hpp"
#include "read/table.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::measure {

// Facts of a GPU on which the shapes depend.
struct GpuFacts {
  std::int64_t sm_count = 132;
  std::int64_t l2_bytes = 50 << 20;
  std::int64_t device_count = 1;
};

struct Suite {
  std::string_view name;
  std::string_view meaning;
  std::vector<std::string_view> columns;  // attributes that tell the rows of its table apart
  std::vector<read::Op> (*ops)(const GpuFacts& gpu);
  bool has_cold_cases = false;  // the L2's content matters
  // Returns the operations that one stands for which names none of a library's ways; null: itself.
  std::vector<read::Op> (*each_way)(const read::Op& op) = nullptr;
};

[[nodiscard]] std::span<const Suite> all_suites();

// Throws std::invalid_argument, with the names of all suites.
[[nodiscard]] const Suite& find_suite(std::string_view name);

struct GridShape {
  std::int64_t m, n, k;
};

// Returns about 200 products that tell the parameters of a product model apart
// (model/calibrated/gemm/README.md): 60 shapes spread evenly over the logarithms of 16 to 32768
// (Halton's sequence), 40 whose tiles of 128 x 128 fill whole waves or one tile more, 50 with few
// rows or columns, 30 that differ in depth alone, 20 long ones.  All sides are multiples of
// `multiple`, which some types need.
[[nodiscard]] std::vector<GridShape> gemm_grid(std::int64_t sm_count, std::int64_t multiple);

// Returns the rows of a table whose columns are attributes of the suite's operation; other columns
// are left out, and cells may be empty.  For conv also SEER's Test-set-II.txt.  Throws
// read::InputError.
[[nodiscard]] std::vector<read::Op> ops_of_grid(const std::filesystem::path& file,
                                                const Suite& suite);

struct ProfileOps {
  std::vector<read::Op> ops;                   // each once, in the order of the profile
  std::map<std::string, std::size_t> skipped;  // events that cannot be replayed, by reason
};

// Returns the operations of the events of a run.
[[nodiscard]] ProfileOps ops_of_profile(const read::Profile& profile);

}  // namespace inline_prof::measure
