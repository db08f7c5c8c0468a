// The forward pass of one transformer block (A. Vaswani et al., "Attention is all you need", 2017,
// arXiv:1706.03762), normalised before each part as later models are.
#pragma once

#include "transformer_kernels.hpp"

namespace graph_example {

struct BlockShape {
  int batch = 4;
  int tokens = 256;  // of each sequence
  int heads = 8;
  int head_dim = 64;

  int width() const { return heads * head_dim; }
  int rows() const { return batch * tokens; }
};

class TransformerBlock {
 public:
  TransformerBlock(const dlrm::Gpu& gpu, const BlockShape& shape, unsigned seed);

  // Only queues work on the GPU's stream.
  void forward();

  // The last pass's outputs.
  const Halves& values() const { return values_; }

 private:
  void attention();
  void feed_forward();

  const dlrm::Gpu& gpu_;
  BlockShape shape_;
  Halves input_;        // [rows, width]
  Halves values_;       // [rows, width]
  Halves normalised_;   // [rows, width]
  Halves qkv_;          // [rows, 3 width]
  Halves scores_;       // [batch, heads, tokens, tokens]
  Halves mixed_;        // [rows, width]
  Halves hidden_;       // [rows, 4 width]
  Halves qkv_weight_;   // [width, 3 width]
  Halves out_weight_;   // [width, width]
  Halves up_weight_;    // [width, 4 width]
  Halves down_weight_;  // [4 width, width]
};

}  // namespace graph_example
