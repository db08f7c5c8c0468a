// Logs of nccl-tests and of PARAM: what is accepted has finite numbers that are not negative.
#include "property.hpp"
#include "read/nccl_tests_log.hpp"
#include "read/param_log.hpp"

#include <cmath>
#include <string>

namespace {

using namespace inline_prof;

void require_quantity(double value) {
  fuzz::require(std::isfinite(value) && value >= 0, "a number of a row is finite and >= 0");
}

void read_nccl(const std::string& text) {
  const auto tests = read::parse_nccl_tests(text, "fuzz");
  fuzz::require(!tests.empty(), "a log has a test");
  for (const read::NcclTest& test : tests) {
    for (const read::NcclRow& row : test.rows) {
      require_quantity(row.bytes);
      require_quantity(row.out_of_place.time_us);
      if (row.in_place) require_quantity(row.in_place->time_us);
    }
  }
}

void read_param(const std::string& text) {
  for (const read::ParamRow& row : read::parse_param_log(text, "fuzz_4.txt").rows) {
    require_quantity(row.bytes);
    fuzz::require(std::isfinite(row.time_us), "a time is finite");
  }
  static_cast<void>(read::original_param_rows(text, "fuzz_4.txt"));
}

}  // namespace

void fuzz::check(const std::string& text) {
  for (const auto parse : {read_nccl, read_param})
    attempt([&] { parse(text); });
}
