// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for the tests of split and merge.

#include <vector>

#include "decompose/split.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

/// Returns the indices 0, 1, … count-1.
std::vector<index_t> identity(index_t count);

/// Returns an input that reads all of `source` without moving it.
BlockInput whole_input(const ConstImageView& source);

/// Splits `array`, which fills the first rows and columns of the layout, into its parts.
std::vector<Array> split_array(const Array& array, const decompose::SplitLayout& layout,
                               Precision precision, int threads = 1);

/// Merges the parts and returns the first `shape` samples of the volume.
Array merge_parts(const std::vector<Array>& parts, const decompose::SplitLayout& layout,
                  const Shape3& shape, Precision precision, int threads = 1);

/// Returns the relative L2 distance.
double distance(const Array& want, const Array& got);

}  // namespace convolume::testing
