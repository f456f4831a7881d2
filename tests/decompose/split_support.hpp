// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of split and merge share.

#include <vector>

#include "decompose/split.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

/// 0, 1, … count-1.
std::vector<index_t> identity(index_t count);

/// The whole of `source`, where it stands.
BlockInput whole_input(const ConstImageView& source);

/// The parts of `array`, which fills the first rows and columns of the layout.
std::vector<Array> split_array(const Array& array, const decompose::SplitLayout& layout,
                               Precision precision, int threads = 1);

/// The first `shape` samples of the volume these parts make.
Array merge_parts(const std::vector<Array>& parts, const decompose::SplitLayout& layout,
                  const Shape3& shape, Precision precision, int threads = 1);

/// Relative L2 distance.
double distance(const Array& want, const Array& got);

}  // namespace convolume::testing
