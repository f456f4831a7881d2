// SPDX-License-Identifier: Apache-2.0
#include "tests/support/circular.hpp"

#include <cmath>

namespace convolume::testing {

Array gather_samples(const BlockInput& input) {
    const auto& [gz, gy, gx] = input.gather;
    const Array source = to_array(input.source);
    Array samples({static_cast<index_t>(gz.size()), static_cast<index_t>(gy.size()),
                   static_cast<index_t>(gx.size())});
    std::size_t i = 0;
    for (const index_t z : gz)
        for (const index_t y : gy)
            for (const index_t x : gx) {
                Complex value = 0;
                if (z >= 0 && y >= 0 && x >= 0) {
                    value = source(z, y, x);
                    const bool finite = std::isfinite(value.real()) && std::isfinite(value.imag());
                    value = input.nonfinite_to_zero && !finite ? 0 : value;
                    value -= input.subtract;
                }
                samples.values[i++] = value;
            }
    return samples;
}

Array circular_convolve(const Block& block, const Array& samples, const Array& taps) {
    Array result(block.kept());
    const auto wrapped = [](index_t position, index_t grid) {
        return ((position % grid) + grid) % grid;
    };
    const auto& [az, ay, ax] = block.axes;
    for (index_t z = 0; z < az.kept; ++z)
        for (index_t y = 0; y < ay.kept; ++y)
            for (index_t x = 0; x < ax.kept; ++x) {
                double real = 0, imag = 0;
                for (index_t k = 0; k < taps.shape.z; ++k) {
                    const index_t sz = wrapped(az.kept_begin + z - k, az.grid);
                    if (sz >= samples.shape.z) continue;
                    for (index_t j = 0; j < taps.shape.y; ++j) {
                        const index_t sy = wrapped(ay.kept_begin + y - j, ay.grid);
                        if (sy >= samples.shape.y) continue;
                        for (index_t i = 0; i < taps.shape.x; ++i) {
                            const index_t sx = wrapped(ax.kept_begin + x - i, ax.grid);
                            if (sx >= samples.shape.x) continue;
                            const Complex a = samples(sz, sy, sx), b = taps(k, j, i);
                            real += a.real() * b.real() - a.imag() * b.imag();
                            imag += a.real() * b.imag() + a.imag() * b.real();
                        }
                    }
                }
                result(z, y, x) = {real, imag};
            }
    return result;
}

}  // namespace convolume::testing
