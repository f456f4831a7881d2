// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/errors.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace convolume::cli {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double ratio(double error, double scale) {
    if (error == 0) return 0;
    if (!std::isfinite(error)) return infinite;
    return scale > 0 ? error / scale : infinite;
}

/// Adds up rows; every row has sums of its own, so that rounding stays small in large images.
struct Sums {
    Errors errors;
    double squares = 0;            ///< of |A − B|
    double reference_squares = 0;  ///< of |B|
    double reference_largest = 0;  ///< of |B|

    void add_row(const std::complex<double>* a, const std::complex<double>* b, index_t count,
                 Index3 place) {
        double row_squares = 0;
        double row_reference = 0;
        for (index_t x = 0; x < count; ++x) {
            const double magnitude = std::abs(b[x]);
            double error = std::abs(a[x] - b[x]);
            if (!std::isfinite(error)) {
                ++errors.nonfinite;
                error = infinite;
            }
            if (error > errors.largest) {
                errors.largest = error;
                errors.worst = {place.z, place.y, place.x + x};
            }
            row_squares += error * error;
            row_reference += magnitude * magnitude;
            if (magnitude > reference_largest) reference_largest = magnitude;
        }
        squares += row_squares;
        reference_squares += row_reference;
    }
};

}  // namespace

Errors errors_of(const ConstImageView& a, const ConstImageView& b) {
    if (a.shape != b.shape)
        throw InvalidArgument(message("results of ", to_string(a.shape), " and ",
                                      to_string(b.shape), " samples cannot be compared"));
    // Rows of signals may have any length: they are converted a few samples at a time.
    constexpr index_t piece = 16384;
    const index_t width = std::min(piece, a.shape.x);
    std::vector<std::complex<double>> row_a(static_cast<std::size_t>(width));
    std::vector<std::complex<double>> row_b(row_a.size());
    Sums sums;
    for (index_t z = 0; z < a.shape.z; ++z)
        for (index_t y = 0; y < a.shape.y; ++y)
            for (index_t x = 0; x < a.shape.x; x += width) {
                const index_t count = std::min(width, a.shape.x - x);
                const Box3 box{{z, y, x}, {z + 1, y + 1, x + count}};
                convert_pixels(subview(a, box), view_of(row_a.data(), {1, 1, count}));
                convert_pixels(subview(b, box), view_of(row_b.data(), {1, 1, count}));
                sums.add_row(row_a.data(), row_b.data(), count, {z, y, x});
            }
    Errors errors = sums.errors;
    const auto samples = static_cast<double>(std::max<index_t>(1, element_count(a.shape)));
    errors.relative_largest = ratio(errors.largest, sums.reference_largest);
    errors.relative_l2 = ratio(std::sqrt(sums.squares), std::sqrt(sums.reference_squares));
    const double rms = std::sqrt(sums.squares / samples);
    errors.psnr_db = rms == 0 ? infinite : 20 * std::log10(sums.reference_largest / rms);
    return errors;
}

}  // namespace convolume::cli
