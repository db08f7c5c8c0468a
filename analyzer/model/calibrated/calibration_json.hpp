// Readers and writers of the calibrated models' parameter files.  Include this in .cpp files only.
#pragma once

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration.hpp"
#include "read/machine.hpp"
#include "read/parameters.hpp"

#include <Eigen/Core>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::model {

// Returns the value of each of `specs`.  Throws InputError.
[[nodiscard]] std::vector<double> parameter_values(const read::Parameters& parameters,
                                                   std::span<const ParameterSpec> specs);
// The same as `machine` would have them: what multiprocessors do takes the fewer microseconds the
// faster they are clocked, L2 has a share of its rate for each of them, and kernels start sooner on
// later generations, if their timer was on the GPU.
[[nodiscard]] std::vector<double> values_on(const read::Machine& machine,
                                            const read::Parameters& parameters,
                                            std::span<const ParameterSpec> specs);
// Returns whether the launch holds no host: a timer within a CUDA graph adds about a launch, one
// on the host ten times that.
[[nodiscard]] bool is_timed_on_the_gpu(double launch_us, double floor_us);
// A word of the file's key.  Throws InputError.
[[nodiscard]] const std::string& key_word(const read::Parameters& parameters,
                                          const std::string& name);

// The member of a file's parameters that holds those of each software stack, by its name.  Beside
// it stand those of the stack that the model describes best.
inline constexpr const char* kStackValues = "stacks";

// One measured point as it stands in the file: what the features are computed from.
using RawPoint = std::vector<double>;
using FeaturesOf = std::function<Eigen::VectorXd(const RawPoint&)>;

struct StoredResidual {
  MaternScales scales;
  std::vector<RawPoint> points;
  std::vector<double> targets;        // ln(measured / analytic)
  std::vector<double> noise_factors;  // of each point
  std::vector<double> usual_errors;   // of each point, when it was held out
};

[[nodiscard]] nlohmann::json residual_json(const StoredResidual& residual);
[[nodiscard]] nlohmann::json conformal_json(const ConformalTable& table);

// Returns nothing where the file has none.  `point_size` is how many numbers a point has.  Throws
// InputError.
[[nodiscard]] MaternProcess read_residual(const read::Parameters& parameters,
                                          std::size_t point_size, const FeaturesOf& features);
// Returns nothing where the file has none, as older files.
[[nodiscard]] LocalScale read_local_scale(const read::Parameters& parameters);
[[nodiscard]] ConformalTable read_conformal(const read::Parameters& parameters);
// Reads all three.
[[nodiscard]] Calibration read_calibration(const read::Parameters& parameters,
                                           std::size_t point_size, const FeaturesOf& features,
                                           double unit_sigma, bool uses_mean = true);

// Calls `use` for each group in this member of a file's parameters, which has the form of a file's
// members.  `node`: the group, for complaints.
void each_group(const read::Parameters& parameters, const char* member,
                const std::function<void(const std::string& name, const read::Parameters& own,
                                         const read::TreeNode& node)>& use);

// Four digits: what a fit can know, a quarter of the bytes, and none of the digits in which
// processors and compilers differ.
[[nodiscard]] double rounded(double value);

}  // namespace inline_prof::model
