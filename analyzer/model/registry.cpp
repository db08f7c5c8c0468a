#include "model/registry.hpp"

#include "model/calibrated/by_source/by_source.hpp"
#include "model/calibrated/collective/collective.hpp"
#include "model/calibrated/conv/conv.hpp"
#include "model/calibrated/embedding/embedding.hpp"
#include "model/calibrated/gemm/gemm.hpp"
#include "model/calibrated/memory/memory.hpp"
#include "model/published/models.hpp"
#include "model/roofline.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace inline_prof::model {

bool covers(const std::vector<OpKind>& kinds, std::optional<OpKind> kind) {
  return kind && std::ranges::find(kinds, *kind) != kinds.end();
}

std::span<const ModelEntry> all_models() {
  static const std::array entries{
      embedding_forward_entry(),
      embedding_backward_sgd_entry(),
      embedding_backward_rowwise_adagrad_entry(),
      embedding_v2_entry(),
      fc_entry(),
      seer_entry(),
      seer_pick_entry(),
      conv_entry(),
      gemm_entry(),
      memory_entry(),
      embedding_entry(),
      source_model_entry(attention_prompts_form()),
      source_model_entry(attention_encoders_form()),
      source_model_entry(attention_decoding_form()),
      source_model_entry(experts_form()),
      source_model_entry(quantise_form()),
      roofline_gemm_entry(),
      roofline_cast_entry(),
      roofline_linear_entry(),
      collective_editions_entry(),
      nvmmh_entry(),
  };
  return entries;
}

std::span<const OperationModel> operation_models() {
  using enum OpKind;
  static const std::array models{
      OperationModel{"copies", {kCopy}, predict_copy},
      OperationModel{"roofline",
                     {kGemm, kGroupedGemm, kConv, kAttention, kNorm, kSoftmax, kMemory, kCast},
                     predict_roofline},
  };
  return models;
}

const ModelEntry& find_model(std::string_view name) {
  std::string names;
  for (const ModelEntry& entry : all_models()) {
    if (entry.name == name) return entry;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  throw std::invalid_argument(fmt::format("unknown model {}: choose from {}", name, names));
}

}  // namespace inline_prof::model
