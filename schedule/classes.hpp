// Groups events that are expected to take the same time: the same launch in another layer.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::schedule {

// The facts that identify equal events.
struct ClassMember {
  std::string event{};
  std::string layer{};   // may be empty
  std::string kernel{};  // may be empty
  std::array<unsigned, 3> grid{};
  std::string op{};  // the operation with its shape as a text; empty: not known

  bool operator==(const ClassMember&) const = default;
};

struct EventClass {
  std::string name{};
  std::vector<std::size_t> members{};  // indices into the events, ascending
};

// Events with equal kernel, grid and operation are a class if their labels, LAYER.EVENT, differ in
// indices only.  An index is the digits at the end of a part of the label, or the whole part; parts
// are divided by '.' and '/'.  `layers.12.attn` and `layers.3.attn` may be one class, `conv2d` and
// `conv3d` not.
//
// A class is named by its members' label, with '*' for the indices in which they differ:
// `TopMLP.fc*.fprop.gemm`.  Names are unique: where two classes differ in kernel, grid or operation
// only, the second one's gets " #2".  Classes are in order of their first members.
[[nodiscard]] [[gnu::cold]] std::vector<EventClass> make_classes(
    const std::vector<ClassMember>& events);

// Tests whether the members of a class take the same time after all. Returns groups of indices into
// `samples` that agree, the one with the fastest members first; one group if all do.
//
// Members are put in the order of their medians. A member leaves the group of those before it if
// the medians are more than 2 % apart, and a two-sided rank-sum test against all samples of the
// group rejects equality at a level of 0.1 % divided by the number of members: H. B. Mann, D. R.
// Whitney, "On a test of whether one of two random variables is stochastically larger than the
// other", The Annals of Mathematical Statistics 18(1), 1947, doi:10.1214/aoms/1177730491, in its
// normal approximation with the correction for ties; O. J. Dunn, "Multiple comparisons among
// means", Journal of the American Statistical Association 56(293), 1961,
// doi:10.1080/01621459.1961.10482090. Members with fewer than 8 samples are not tested; they stay
// in the largest group.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_that_agree(
    const std::vector<std::vector<double>>& samples);

}  // namespace inline_prof::schedule
