// The sizes of the network and of a batch.
#pragma once

#include <cstddef>

namespace dlrm {

// Dense features of a sample, as in the Criteo data set.
inline constexpr int kDenseFeatures = 13;

// Gradients are f16, and those of a mean over thousands of samples would underflow: they are scaled
// up by this, and the update divides by it.
inline constexpr float kLossScale = 1024.0F;

struct Shape {
  // `tables` embedding tables of `rows` vectors with `dim` elements; a sample takes the sum of
  // `bag` rows of each.
  constexpr Shape(int batch_size, int table_count, int row_count, int bag_size, int vector_dim)
      : batch(batch_size),
        tables(table_count),
        rows(row_count),
        bag(bag_size),
        dim(vector_dim),
        vectors(table_count + 1),
        pairs(vectors * (vectors - 1) / 2),
        interaction_width((vector_dim + pairs + 7) / 8 * 8) {}

  int batch, tables, rows, bag, dim;

  int vectors;  // whose dot products are taken: the dense one, and one of each table
  int pairs;    // of them
  // The dense vector, then the pairs, filled up with zeros to a multiple of the 8 f16 elements that
  // tensor cores read at a time: 480 for 26 tables and dim 128.
  int interaction_width;
};

}  // namespace dlrm
