// How far equal launches of one run differ from each other: what is known of a time that was
// measured only once.
#pragma once

#include "join/rows/row.hpp"
#include "read/profile.hpp"

#include <vector>

namespace inline_prof::join {

// Sets raw_ci95_us of rows that have too few samples for one, from launches of the same kernel for
// the same operation: the pooled variance of the logarithms of their times, over the kernel's
// launches where they are enough, else over all kernels that wait for nobody.  `rows` are those of
// `events`, one each.
void set_intervals_of_few_samples(std::vector<Row>& rows, const std::vector<read::Event>& events);

}  // namespace inline_prof::join
