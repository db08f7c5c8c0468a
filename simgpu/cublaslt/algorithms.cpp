// Algorithms: one, with three tiles, with or without a split of k; and the heuristic that orders
// them.
#include "cublaslt/descriptors.hpp"
#include "cublaslt/matmul.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace simgpu {
namespace {

constexpr std::int32_t kAlgoId = 66;

struct TileId {
  std::uint32_t id;
  int m, n;
};
constexpr std::array kTiles{TileId{CUBLASLT_MATMUL_TILE_64x64, 64, 64},
                            TileId{CUBLASLT_MATMUL_TILE_128x128, 128, 128},
                            TileId{CUBLASLT_MATMUL_TILE_128x256, 128, 256}};

constexpr std::array kConfigFields{
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_ID, MatmulAlgo, id),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_TILE_ID, MatmulAlgo, tile_id),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, MatmulAlgo, splits),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, MatmulAlgo, reduction_scheme),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, MatmulAlgo, cta_swizzling),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, MatmulAlgo, custom_option),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_STAGES_ID, MatmulAlgo, stages_id),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, MatmulAlgo, inner_shape_id),
    SIMGPU_FIELD(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, MatmulAlgo, cluster_shape_id)};

bool needs_reduction(const MatmulAlgo& algo) {
  return algo.splits > 1 && algo.reduction_scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

// All ways to run the product, in the order of the estimated time: the rule's tile first, split
// where the rule splits.
std::vector<MatmulAlgo> candidates(const Matmul& matmul) {
  const GemmTile best = gemm_tile(matmul.problem);
  MatmulAlgo algo{.magic = kAlgoMagic, .id = kAlgoId};
  std::vector<MatmulAlgo> result;
  const auto add = [&](const TileId& tile) {
    algo.tile_id = tile.id;
    result.push_back(algo);
  };
  for (const TileId& tile : kTiles) {
    if (tile.m != best.m || tile.n != best.n) continue;
    if (const int splits = gemm_splits(matmul.problem); splits > 1) {
      algo.splits = splits;
      algo.reduction_scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
      add(tile);
      algo.splits = 1;
      algo.reduction_scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
    }
    add(tile);
  }
  for (const TileId& tile : kTiles) {
    if (tile.m != best.m || tile.n != best.n) add(tile);
  }
  return result;
}

MatmulPlan plan_from(const Matmul& matmul, const MatmulAlgo& algo) {
  fail_if(algo.magic != kAlgoMagic || algo.id != kAlgoId);
  fail_if(algo.splits < 1 ||
              (algo.splits > 1 && algo.reduction_scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
               algo.reduction_scheme != CUBLASLT_REDUCTION_SCHEME_INPLACE),
          CUBLAS_STATUS_NOT_SUPPORTED);
  MatmulPlan plan{};
  plan.tile = gemm_tile(matmul.problem);
  if (algo.tile_id != CUBLASLT_MATMUL_TILE_UNDEFINED) {
    const auto* tile = std::find_if(kTiles.begin(), kTiles.end(),
                                    [&](const TileId& known) { return known.id == algo.tile_id; });
    fail_if(tile == kTiles.end(), CUBLAS_STATUS_NOT_SUPPORTED);
    plan.tile.m = tile->m;
    plan.tile.n = tile->n;
  }
  // In place, the blocks take turns on the output: no second kernel, no workspace to speak of.
  plan.splits = needs_reduction(algo) ? algo.splits : 1;
  plan.workspace_bytes = split_workspace_bytes(matmul.problem, plan.splits);
  return plan;
}

cublasLtMatmulHeuristicResult_t result_of(const cublasLtContext& handle, const Matmul& matmul,
                                          const MatmulAlgo& algo) {
  const MatmulPlan plan = plan_from(matmul, algo);
  cublasLtMatmulHeuristicResult_t result{};
  put(algo, result.algo);
  result.workspaceSize = static_cast<std::size_t>(plan.workspace_bytes);
  result.state = CUBLAS_STATUS_SUCCESS;
  const auto [x, y, z] = gemm_kernels(matmul.problem, plan.tile, plan.splits).front().grid;
  result.wavesCount =
      static_cast<float>(x) * static_cast<float>(z) / static_cast<float>(handle.sm_count());
  return result;
}

}  // namespace

MatmulPlan plan_of(const Matmul& matmul, const cublasLtMatmulAlgo_t& algo) {
  return plan_from(matmul, value_in<MatmulAlgo>(algo));
}

MatmulPlan default_plan(const Matmul& matmul, std::size_t workspace_bytes) {
  MatmulPlan plan{.tile = gemm_tile(matmul.problem),
                  .splits = gemm_splits(matmul.problem),
                  .workspace_bytes = 0};
  plan.workspace_bytes = split_workspace_bytes(matmul.problem, plan.splits);
  if (plan.workspace_bytes > static_cast<double>(workspace_bytes)) {
    plan.splits = 1;
    plan.workspace_bytes = 0;
  }
  return plan;
}

}  // namespace simgpu

using namespace simgpu;

SIMGPU_CALL(cublasLtMatmulAlgoGetHeuristic, handle, desc, a, b, c, d, preference, requested,
            results, returned) {
  check_handle(handle);
  fail_if(preference == nullptr || requested <= 0 || results == nullptr || returned == nullptr);
  *returned = 0;
  const Matmul matmul = describe({desc, a, b, c, d});
  const auto wishes = value_in<MatmulPreference>(*preference);
  for (const MatmulAlgo& algo : candidates(matmul)) {
    if (*returned == requested) break;
    const auto result = result_of(*handle, matmul, algo);
    // "Selecting a non-zero value will exclude algorithms that report device utilization higher
    // than specified."
    if (result.workspaceSize > wishes.max_workspace_bytes ||
        (algo.reduction_scheme & ~wishes.reduction_scheme_mask) != 0 ||
        (wishes.max_waves_count > 0 && result.wavesCount > wishes.max_waves_count)) {
      continue;
    }
    results[(*returned)++] = result;
  }
  fail_if(*returned == 0, CUBLAS_STATUS_NOT_SUPPORTED);
}

SIMGPU_CALL(cublasLtMatmulAlgoConfigGetAttribute, algo, attribute, buffer, bytes, written) {
  get_attribute(kConfigFields, algo, attribute, buffer, bytes, written);
}
