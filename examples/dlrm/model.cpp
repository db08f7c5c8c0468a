#include "model.hpp"

#include <inline_prof/profile.h>

namespace dlrm {

Model::Model(const Gpu& gpu, const Shape& shape, float learning_rate, std::uint64_t seed)
    : step_(learning_rate / kLossScale),
      data_(gpu, shape, seed),
      embedding_(gpu, shape, seed + 1),
      bottom_(gpu,
              {.name = "BottomMLP",
               .first_layer = 1,
               .batch = shape.batch,
               .widths = {kDenseFeatures, 512, 256, shape.dim},
               .has_final_relu = true,
               .has_input_gradient = false},
              static_cast<unsigned>(seed + 2)),
      interaction_(gpu, shape),
      top_(gpu,
           {.name = "TopMLP",
            .first_layer = 4,
            .batch = shape.batch,
            .widths = {shape.interaction_width, 1024, 1024, 512, 256, 1},
            .has_final_relu = false,
            .has_input_gradient = true},
           static_cast<unsigned>(seed + 3)),
      loss_(gpu, shape.batch) {}

void Model::train_step() {
  PROFILE_ITERATION();
  data_.next();

  const __half* const embedded = embedding_.forward(data_.indices());
  const __half* const dense = bottom_.forward(data_.dense());
  const __half* const features = interaction_.forward(dense, embedded);
  const __half* const logits = top_.forward(features);

  __half* const logit_gradient = loss_.forward_backward(logits, data_.labels());
  const __half* const feature_gradient = top_.backward(logit_gradient);
  interaction_.backward(dense, embedded, feature_gradient);
  bottom_.backward(interaction_.dense_gradient());

  embedding_.backward_and_update(data_.indices(), interaction_.embedded_gradient(), step_);
  bottom_.update(step_);
  top_.update(step_);
}

}  // namespace dlrm
