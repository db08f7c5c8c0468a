// What is measured by default: one suite for each kind of work, a table for each suite.
#pragma once

#include "measure/case.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace inline_prof::measure {

// What the shapes depend on.
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
  // What an operation stands for that names none of a library's ways; null: for itself.
  std::vector<read::Op> (*each_way)(const read::Op& op) = nullptr;
};

[[nodiscard]] std::span<const Suite> all_suites();

// Throws std::invalid_argument with the names there are.
[[nodiscard]] const Suite& find_suite(std::string_view name);

}  // namespace inline_prof::measure
