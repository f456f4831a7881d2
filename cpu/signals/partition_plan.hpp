// SPDX-License-Identifier: Apache-2.0
#pragma once
// The partition of a long filter whose results must not be late: short partitions first, longer
// ones behind them (W. G. Gardner, J. Audio Eng. Soc. 43:127, 1995), of the sizes that cost least
// (G. García, 113th AES Convention, paper 5660, 2002).

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Consecutive partitions of equal size.
struct PartitionLevel {
    index_t size;       ///< taps of a partition
    index_t count;      ///< number of partitions
    index_t first_tap;  ///< of the first partition
};

/// What the cost of a partition depends on.
struct PartitionProblem {
    index_t block;  ///< samples that arrive at once
    index_t taps;
    index_t inputs, outputs;
    index_t pairs;        ///< number of pairs of an input and an output with a filter
    index_t filters;      ///< number of different filters
    index_t sample_size;  ///< bytes of a real sample
};

/// Returns the partition of least predicted time. The first level has partitions of a block. A
/// later level, of partitions of m blocks, begins at tap 2m · block or later: the work for m blocks
/// may then be spread over the next m. Sizes are powers of two times the block.
std::vector<PartitionLevel> plan_partitions(const PartitionProblem& problem);

/// Returns the predicted nanoseconds of one complex transform of `length` samples.
double predicted_transform_ns(index_t length);
/// Returns the predicted nanoseconds of a product of two bins that is added to a sum.
double predicted_product_ns(const PartitionProblem& problem);

}  // namespace convolume::cpu
