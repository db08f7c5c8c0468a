// Times in the files that describe an iteration.
#pragma once

namespace inline_prof::read {

class TreeNode;

// `node` as a duration in microseconds.  Throws what TreeNode::fail throws if it is no number from
// 0 to 1e16, which is three hundred years: sums of such times are still finite.
double duration_us(const TreeNode& node);

}  // namespace inline_prof::read
