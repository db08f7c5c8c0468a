// Times of kernels by family: launch, bytes, elements and flops of what this kind of kernel does,
// with parameters for each GPU (docs/models/families.md).
#pragma once

#include "model/families/kernel_family.hpp"
#include "model/prediction.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"
#include "read/parameters.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::model {

// The parameters of one family on one GPU.  Shares are of the data sheet's rates, so that they
// carry over to others.
struct FamilyParameters {
  double launch_us = 2.0;  // before the first byte, and behind the last one
  double share = 0.8;      // of the memory's bandwidth, of the peak, or of the product's speed
  double elements_per_clock = 1.3;  // of each multiprocessor; movement and unaligned products
  double sigma = 0.3;               // standard deviation of ln(measured / predicted), of long ones
  std::int64_t rows = 0;            // that were fitted; 0: carried over
};

using FamilyMap = std::map<std::string, FamilyParameters, std::less<>>;

// The work of one kernel, as the forms need it.
struct FamilyWork {
  FamilyForm form = FamilyForm::kNone;
  double bytes = 0;
  double elements = 0;    // times the passes over them; kProduct: 16-bit numbers that tiles load
  double peak_us = 0;     // kTiles: the padded work at the peak of the whole GPU
  double blocks = 0;      // of the grid, where few leave multiprocessors idle; 0: not known
  double base_us = 0;     // kProduct: what the product's model says
  double cold_bytes = 0;  // kProduct: operands and result, if they would fit into L2
};

// Returns the family whose parameters count for this operation.  Names of kernels give alignment in
// elements: four of single precision are the 16 bytes that eight of 16 bits are.
[[nodiscard]] std::string_view family_of_parameters(const KernelFamily& family, const read::Op& op);

// Empty where the kernel has no family, or the operation does not tell what the family's form
// needs.  `base` is the prediction of the operation's own model, if there is one.
[[nodiscard]] std::optional<FamilyWork> family_work(std::string_view kernel_name,
                                                    const read::Op& op,
                                                    const read::Machine& machine, double blocks,
                                                    const std::optional<Prediction>& base);

[[nodiscard]] double family_time_us(const FamilyWork& work, const FamilyParameters& parameters,
                                    const read::Machine& machine);

// Returns ln(upper end / time) of the 90 % interval of a kernel that takes `time_us`.
[[nodiscard]] double family_half_width(const FamilyParameters& parameters, double time_us);

class Families {
 public:
  explicit Families(const read::Parameters& parameters, const read::Machine& machine);

  // The time that this kernel is expected to take.  Empty if its family is not known, or has no
  // form.
  [[nodiscard]] std::optional<Prediction> predict(std::string_view kernel_name, double blocks,
                                                  const read::Op& op, const read::Machine& machine,
                                                  const std::optional<Prediction>& base) const;

  // Returns the time of the best family for such work; empty if none is better.
  [[nodiscard]] std::optional<double> attainable_us(const FamilyWork& work,
                                                    const read::Machine& machine) const;
  [[nodiscard]] const FamilyParameters* parameters_of(std::string_view family) const;
  [[nodiscard]] const std::string& trained_machine() const { return trained_machine_; }

 private:
  FamilyMap parameters_;
  std::string trained_machine_;
};

// A measured row for the fit.
struct FamilyRow {
  std::string family;
  FamilyWork work;
  double measured_us = 0;
  double weight = 1;  // how often it was measured
  std::size_t trace = 0;
};

// Fits each family with rows, starting from `start` and staying near it where rows are few.  Its
// `sigma` is that of traces left out, where there are several.  The same rows always give the same
// parameters.
[[nodiscard]] FamilyMap fit_families(const std::vector<FamilyRow>& rows, const FamilyMap& start,
                                     const read::Machine& machine);

[[nodiscard]] FamilyMap family_parameters(const read::Parameters& parameters);
[[nodiscard]] read::Parameters parameters_of_families(const FamilyMap& families,
                                                      const std::string& machine_id);

// The parameters that are shipped for the machine, else those of the GPU whose generation is
// nearest.
[[nodiscard]] read::Parameters shipped_families(const read::Machine& machine);

// The families' values where no measurement tells: how such kernels work, on any GPU.
[[nodiscard]] FamilyMap usual_family_parameters();

}  // namespace inline_prof::model
