// The whole chain against a known truth: the example under the injected library, on a simulated GPU
// whose event pairs have a bias that the library does not know, and prof-analyze's report of it.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr int kSeeds = 10;
constexpr double kJitterUs = 0.3;
constexpr double kNoise = 0.03;
constexpr double kCalibrationPairs = 64;
// A kernel's share of a chain is the median of 16 pairs around nine, less that of 64 around one,
// over 8.  Their kernels of 2 us scatter by 0.06 us each, which is 0.18 us for nine.
const double kChainErrorUs = std::hypot(kJitterUs, 0.18) * 1.25 / 4 / 8 + kJitterUs * 1.25 / 8 / 8;
constexpr std::uint64_t kIterations = 4200;  // some 80 kernels of 50 samples each

// Returns the standard error of a median of `count` normally distributed values: sd sqrt(pi/2n)
// (M. G. Kendall, A. Stuart, The Advanced Theory of Statistics vol. 1, section 14.6).
double median_error(double sd, double count) {
  return sd * std::sqrt(std::acos(-1.0) / 2 / count);
}

// A kernel by name and grid on a stream; the example launches it several times an iteration, with
// different work.
using Place = std::tuple<std::string, std::array<unsigned, 3>>;

struct Measured {
  double corrected_us;
  double raw_us;
  double samples;
};

// True times of one iteration by place, ascending: a row of the truth file that was launched k
// times an iteration stands k times.
std::map<Place, std::vector<double>> true_times(const json& truth, std::uint64_t iterations) {
  std::map<Place, std::vector<double>> times;
  for (const json& row : truth["kernels"]) {
    std::vector<double> durations_us;
    for (const json& each : row["durations_ns"])
      durations_us.push_back(each.get<double>() * 1e-3);
    const auto an_iteration = row["count"].get<std::uint64_t>() / iterations;
    auto& place = times[{row["mangled"], row["grid"].get<std::array<unsigned, 3>>()}];
    place.insert(place.end(), an_iteration, median(durations_us));
  }
  for (auto& [place, each] : times)
    std::sort(each.begin(), each.end());
  return times;
}

std::map<Place, std::vector<Measured>> measured_times(const json& profile, const json& report) {
  std::map<std::int64_t, const json*> events;
  for (const json& event : profile["events"])
    events[event["start_index"]] = &event;
  std::map<Place, std::vector<Measured>> times;
  for (const json& row : report["rows"]) {
    const json& event = *events.at(row["start_index"]);
    times[{event["kernel_name"], event["grid"].get<std::array<unsigned, 3>>()}].push_back(
        {.corrected_us = row["corrected_us"], .raw_us = row["raw_us"], .samples = row["samples"]});
  }
  for (auto& [place, each] : times) {
    std::sort(each.begin(), each.end(),
              [](const Measured& a, const Measured& b) { return a.corrected_us < b.corrected_us; });
  }
  return times;
}

TEST(CorrectedMedians, LieAtTheTruthForAnyBiasOfThePairs) {
  std::mt19937 generator(20261121);
  std::printf("seed  bias us  kernels  corrected: worst us  median us  uncorrected: median us\n");
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double bias_us = 11.0 * static_cast<double>(generator()) / 4294967296.0;
    const double behind_kernel_us = 3.0 * static_cast<double>(generator()) / 4294967296.0;
    const ProfiledRun run(
        INLINE_PROF_TEST_DLRM,
        {.arguments = {"--iterations", std::to_string(kIterations)},
         .environment = {std::string("SIMGPU_MODEL=") + INLINE_PROF_TEST_DLRM_MODEL,
                         "SIMGPU_TRUTH=truth.json", "SIMGPU_SEED=" + std::to_string(seed),
                         "SIMGPU_PAIR_BIAS_US=" + std::to_string(bias_us),
                         "SIMGPU_KERNEL_PAIR_BIAS_US=" + std::to_string(behind_kernel_us),
                         "SIMGPU_PAIR_JITTER_US=" + std::to_string(kJitterUs),
                         "SIMGPU_NOISE=" + std::to_string(kNoise)}});
    ASSERT_EQ(run.profile["complete"], true) << run.profile["warnings"];
    const json truth_file = run.place.json("truth.json");
    const auto truth = true_times(truth_file, kIterations);
    std::vector<double> corrected_errors;
    std::vector<double> raw_errors;
    // auto subtracts the pair around nothing, which does not contain the bias behind a kernel.
    for (const auto& [setting, left_us] :
         {std::pair{"auto", behind_kernel_us}, std::pair{"chain", 0.0}}) {
      const HostRun analysis =
          run_host(run.place, INLINE_PROF_TEST_ANALYZE,
                   {.arguments = {"prof.json", "--event-bias", setting, "--format", "json", "-o",
                                  "report.json", "--force"},
                    .with_library = false});
      ASSERT_EQ(analysis.exit_status, 0) << analysis.output;
      corrected_errors.clear();
      raw_errors.clear();
      for (const auto& [kernel, times] :
           measured_times(run.profile, run.place.json("report.json"))) {
        const auto expected = truth.find(kernel);
        ASSERT_NE(expected, truth.end()) << std::get<0>(kernel);
        ASSERT_EQ(times.size(), expected->second.size()) << std::get<0>(kernel);
        for (std::size_t i = 0; i < times.size(); ++i) {
          const double true_us = expected->second[i];
          const double error_us = std::abs(times[i].corrected_us - left_us - true_us);
          const double sd = std::hypot(kNoise * true_us, kJitterUs);
          const double standard_error_us =
              std::hypot(median_error(sd, times[i].samples),
                         median_error(kJitterUs, kCalibrationPairs) + kChainErrorUs);
          EXPECT_LE(error_us, std::max(0.2, 4 * standard_error_us))
              << setting << ", seed " << seed << ", bias " << bias_us << " us, behind a kernel "
              << behind_kernel_us << " us more, " << std::get<0>(kernel);
          corrected_errors.push_back(error_us);
          raw_errors.push_back(std::abs(times[i].raw_us - true_us));
        }
      }
    }
    ASSERT_GT(corrected_errors.size(), 60U);
    std::printf("%4d %8.2f %8zu %20.3f %10.3f %23.3f\n", seed, bias_us, corrected_errors.size(),
                *std::max_element(corrected_errors.begin(), corrected_errors.end()),
                median(corrected_errors), median(raw_errors));
  }
}

}  // namespace
}  // namespace inline_prof::test
