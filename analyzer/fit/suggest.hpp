// Which products are worth measuring next.
#pragma once

#include "model/calibrated/gemm/gemm_analytic.hpp"
#include "read/machine.hpp"
#include "read/parameters.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace inline_prof::fit {

// `count` of the candidates, the most telling first: each time the one that leaves the least
// variance of ln(time) over all candidates together, as the parameters' covariance and the residual
// process see it (D. A. Cohn, "Neural Network Exploration Using Optimal Experiment Design", Neural
// Networks 9(6), 1996).  Nothing of the covariance holds on another machine than the parameters'
// own: there each parameter counts as uncertain by a third.  Throws read::InputError.
[[nodiscard]] std::vector<model::GemmShape> suggest_products(
    const read::Parameters& parameters, const read::Machine& machine,
    std::span<const model::GemmShape> candidates, std::size_t count);

}  // namespace inline_prof::fit
