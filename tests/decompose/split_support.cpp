// SPDX-License-Identifier: Apache-2.0
#include "tests/decompose/split_support.hpp"

#include <cmath>
#include <numeric>

namespace convolume::testing {

std::vector<index_t> identity(index_t count) {
    std::vector<index_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), index_t{0});
    return indices;
}

BlockInput whole_input(const ConstImageView& source) {
    BlockInput input;
    input.source = source;
    for (int axis = 0; axis < 3; ++axis) {
        input.gather[static_cast<std::size_t>(axis)] = identity(source.shape[axis]);
    }
    return input;
}

namespace {

Volume split_volume(const decompose::SplitLayout& layout, Precision precision) {
    return {{layout.z_grid, layout.rows, layout.columns},
            pixel_type(precision, layout.complex_data)};
}

}  // namespace

std::vector<Array> split_array(const Array& array, const decompose::SplitLayout& layout,
                               Precision precision, int threads) {
    const Volume source = to_volume(array, pixel_type(precision, layout.complex_data));
    Volume data = split_volume(layout, precision);
    const BlockInput input = whole_input(source.view());
    if (precision == Precision::float32) {
        decompose::split(input, layout, static_cast<float*>(data.view().data), threads, {});
    } else {
        decompose::split(input, layout, static_cast<double*>(data.view().data), threads, {});
    }
    std::vector<Array> parts;
    for (int p = 0; p < layout.parts; ++p) {
        parts.push_back(to_array(layout.part(data.view().data, p, precision)));
    }
    return parts;
}

Array merge_parts(const std::vector<Array>& parts, const decompose::SplitLayout& layout,
                  const Shape3& shape, Precision precision, int threads) {
    Volume data = split_volume(layout, precision);
    for (int p = 0; p < layout.parts; ++p) {
        store(parts[static_cast<std::size_t>(p)], layout.part(data.view().data, p, precision));
    }
    Volume merged(shape, pixel_type(precision, layout.complex_data));
    const BlockOutput output{merged.view()};
    if (precision == Precision::float32) {
        decompose::merge(static_cast<const float*>(data.view().data), layout, 0, output, threads,
                         {});
    } else {
        decompose::merge(static_cast<const double*>(data.view().data), layout, 0, output, threads,
                         {});
    }
    return to_array(merged.view());
}

double distance(const Array& want, const Array& got) {
    if (want.shape != got.shape) return INFINITY;
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < want.values.size(); ++i) {
        error += std::norm(want.values[i] - got.values[i]);
        size += std::norm(want.values[i]);
    }
    return size == 0 ? std::sqrt(error) : std::sqrt(error / size);
}

}  // namespace convolume::testing
