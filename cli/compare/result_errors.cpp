// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/result_errors.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/threads.hpp"

namespace convolume::cli {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double ratio(double error, double scale) {
    if (error == 0) return 0;
    if (!std::isfinite(error)) return infinite;
    return scale > 0 ? error / scale : infinite;
}

/// Errors summed over rows. Every row is summed separately, so that rounding stays small.
struct ErrorSums {
    ResultErrors errors;
    double squares = 0;            ///< sum of |A − B|²
    double reference_squares = 0;  ///< sum of |B|²

    template <class Sample>
    void add_row(const Sample* a, const Sample* b, index_t count, Index3 place) {
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
            if (magnitude > errors.reference_largest) errors.reference_largest = magnitude;
        }
        squares += row_squares;
        reference_squares += row_reference;
    }

    void add(const ErrorSums& later) {
        errors.nonfinite += later.errors.nonfinite;
        if (later.errors.largest > errors.largest) {
            errors.largest = later.errors.largest;
            errors.worst = later.errors.worst;
        }
        squares += later.squares;
        reference_squares += later.reference_squares;
        errors.reference_largest =
            std::max(errors.reference_largest, later.errors.reference_largest);
    }
};

/// Sums the errors of rows [first, end), which are numbered through all planes.
template <class Sample>
ErrorSums error_sums_of_rows(const ConstImageView& a, const ConstImageView& b, index_t first,
                             index_t end) {
    // Rows of signals may have any length, so they are converted a few samples at a time.
    constexpr index_t piece = 16384;
    const index_t width = std::min(piece, a.shape.x);
    std::vector<Sample> row_a(static_cast<std::size_t>(width));
    std::vector<Sample> row_b(row_a.size());
    ErrorSums sums;
    for (index_t row = first; row < end; ++row) {
        const index_t z = row / a.shape.y;
        const index_t y = row % a.shape.y;
        for (index_t x = 0; x < a.shape.x; x += width) {
            const index_t count = std::min(width, a.shape.x - x);
            const Box3 box{{z, y, x}, {z + 1, y + 1, x + count}};
            convert_pixels(subview(a, box), view_of(row_a.data(), {1, 1, count}));
            convert_pixels(subview(b, box), view_of(row_b.data(), {1, 1, count}));
            sums.add_row(row_a.data(), row_b.data(), count, {z, y, x});
        }
    }
    return sums;
}

}  // namespace

ResultErrors errors_of(const ConstImageView& a, const ConstImageView& b) {
    if (a.shape != b.shape)
        throw InvalidArgument(message("results of ", to_string(a.shape), " and ",
                                      to_string(b.shape), " samples cannot be compared"));
    const bool complex_data = is_complex(a.type) || is_complex(b.type);
    // Threads take bands of rows. Bands are added up in order, so results do not depend on threads.
    constexpr index_t band = 64;
    const index_t rows = a.shape.z * a.shape.y;
    std::vector<ErrorSums> bands(static_cast<std::size_t>(ceil_div(rows, band)));
    parallel_for(ceil_div(rows, band), thread_count(0), [&](index_t i, int) {
        const index_t begin = i * band;
        const index_t end = std::min(rows, begin + band);
        bands[static_cast<std::size_t>(i)] =
            complex_data ? error_sums_of_rows<std::complex<double>>(a, b, begin, end)
                         : error_sums_of_rows<double>(a, b, begin, end);
    });
    ErrorSums sums;
    for (const ErrorSums& next : bands) sums.add(next);
    ResultErrors errors = sums.errors;
    const auto samples = static_cast<double>(std::max<index_t>(1, element_count(a.shape)));
    errors.relative_largest = ratio(errors.largest, errors.reference_largest);
    errors.relative_l2 = ratio(std::sqrt(sums.squares), std::sqrt(sums.reference_squares));
    const double rms = std::sqrt(sums.squares / samples);
    errors.psnr_db = rms == 0 ? infinite : 20 * std::log10(errors.reference_largest / rms);
    return errors;
}

}  // namespace convolume::cli
