// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/sample_type.hpp"
#include "decompose/part.hpp"

namespace convolume::decompose {

namespace {

/// Sample is the part's kind in double.
template <class Sample>
void fold(const ConstImageView& taps, const PartId& part, const PartFrequencies& frequencies,
          index_t part_planes, const ImageView& folded) {
    std::vector<index_t> columns(static_cast<std::size_t>(taps.shape.x));
    std::iota(columns.begin(), columns.end(), index_t{0});
    const pixels::RowGather gather(columns);
    std::vector<Sample> row(columns.size());
    std::vector<Sample> sum(columns.size());
    for (index_t n = 0; n < folded.shape.z; ++n) {
        for (index_t y = 0; y < taps.shape.y; ++y) {
            std::fill(sum.begin(), sum.end(), Sample(0));
            for (index_t z = n; z < taps.shape.z; z += part_planes) {
                pixels::load_row(taps, z, y, gather, {}, row.data());
                if constexpr (std::is_same_v<Sample, double>) {
                    for (std::size_t x = 0; x < row.size(); ++x) sum[x] += row[x];
                } else {
                    const Sample factor = root_of_unity(frequencies.first * z, part.z_grid);
                    for (std::size_t x = 0; x < row.size(); ++x) sum[x] += row[x] * factor;
                }
            }
            pixels::store_row(sum.data(), taps.shape.x, 0, folded, n, y);
        }
    }
}

}  // namespace

Volume split_kernel(const ConstImageView& taps, bool complex_data, const PartId& part,
                    Precision precision) {
    const PartShape shape = part_shape(complex_data, part);
    if (element_count(taps.shape) == 0 || taps.shape.z > part.z_grid) {
        throw InvalidArgument(message("a kernel of ", to_string(taps.shape),
                                      " samples does not fit a grid of ", part.z_grid,
                                      " planes; it must have at least one sample and at most as "
                                      "many planes as the grid"));
    }
    if (is_complex(taps.type) && !complex_data) {
        throw InvalidArgument(
            "a complex kernel cannot be split as real data; ask for complex parts");
    }
    Volume folded({std::min(taps.shape.z, shape.planes), taps.shape.y, taps.shape.x},
                  sample_type(precision, shape.complex_data));
    const auto frequencies = part_frequencies(complex_data, part.index, part.count);
    if (shape.complex_data) {
        fold<std::complex<double>>(taps, part, frequencies, shape.planes, folded.view());
    } else {
        fold<double>(taps, part, frequencies, shape.planes, folded.view());
    }
    return folded;
}

}  // namespace convolume::decompose
