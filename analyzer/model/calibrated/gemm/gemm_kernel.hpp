// What a kernel's name and its launch say about how a matrix product is computed.
#pragma once

#include "model/calibrated/gemm/gemm_analytic.hpp"

#include <optional>
#include <string_view>

namespace inline_prof::model {

// The tile in the name of a kernel that multiplies matrices ("ampere_sgemm_128x64_tn",
// "sm90_xmma_gemm_..._tilesize128x256x64_...", "nvjet_hsh_128x256_..."), if the launch bears it
// out: with it, `blocks` cover C a whole number of times, once for each part of a split k.  Names
// give the columns of a row-major C first; where only the other way round fits, that is taken.
// Empty where the name has no tile, or the blocks do not fit it: a kernel whose blocks stay and
// take several tiles launches one a multiprocessor.
[[nodiscard]] std::optional<GemmKernel> gemm_kernel(std::string_view name, const GemmShape& shape,
                                                    double blocks);

}  // namespace inline_prof::model
