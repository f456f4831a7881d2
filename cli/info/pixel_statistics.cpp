// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cli/info/command.hpp"
#include "cli/picture/projection.hpp"

namespace convolume::cli {

void PixelStatistics::add(const ConstImageView& image) {
    visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (index_t z = 0; z < image.shape.z; ++z)
            for (index_t y = 0; y < image.shape.y; ++y) {
                const T* row = static_cast<const T*>(image.at(z, y, 0));
                double row_sum = 0;
                for (index_t x = 0; x < image.shape.x; ++x) {
                    const double value = real_or_magnitude(row[x * image.strides.x]);
                    if (std::isnan(value)) {
                        ++nan_count;
                        continue;
                    }
                    minimum = std::min(minimum, value);
                    maximum = std::max(maximum, value);
                    row_sum += value;
                }
                value_sum += row_sum;
            }
    });
    count += element_count(image.shape);
}

}  // namespace convolume::cli
