#include "read/tree_time.hpp"

#include "read/json_tree.hpp"

namespace inline_prof::read {

double duration_us(const TreeNode& node) {
  const double time = node.number();
  if (!(time >= 0) || time > 1e16) node.fail("expected a time from 0 to 1e16 us");
  return time;
}

}  // namespace inline_prof::read
