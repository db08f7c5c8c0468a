#pragma once

#include "join/analysis.hpp"

namespace inline_prof::join {

// Gives unmeasured rows that resemble measured ones a time, and sets in_iteration_us of every row
// that has one, counts the others, and divides every device's iteration up
// (docs/reading_a_report.md):
//
//  * a region counts once; its children share its time: all they took if that is less (what is left
//    is measured without prediction), else each its part of it;
//  * rows of one stream follow each other; where rows of several streams of a device run at the
//  same
//    moment, that moment is split evenly between them;
//  * a sum above the iteration is scaled down to it, with a warning.
//
// Sets the shares_* members of `analysis`, and `share_percent` of the merged rows.
void compute_shares(Analysis& analysis);

}  // namespace inline_prof::join
