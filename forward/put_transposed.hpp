// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposes matrices. Compiled for each instruction set.

#include "convolume/shape.hpp"

namespace convolume::forward {

/// Writes or adds `weight` times a matrix to its transposed one:
///     to[j * to_step + i] = weight * from[i * from_step + j]
template <class T>
void put_transposed(const T* from, index_t from_step, index_t rows, index_t columns, T weight,
                    bool adds, T* to, index_t to_step);

}  // namespace convolume::forward
