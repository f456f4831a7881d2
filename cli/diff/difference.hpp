// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures of the difference between two images: largest difference, root mean square, PSNR, and
// the structural similarity (SSIM) of Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli,
// "Image quality assessment: from error visibility to structural similarity", IEEE Trans. Image
// Process. 13(4):600–612, 2004.

#include <optional>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// Edge of the windows of SSIM: Gaussian weights with sigma 1.5 in a plane.
inline constexpr index_t ssim_window = 11;

/// Sums over samples of two images, from which the measures follow.
struct ImageDifference {
    /// A sample with the largest difference.
    struct Sample {
        double difference = 0;
        index_t t = 0;
        Index3 index{0, 0, 0};  ///< z, y, x
        double first = 0;
        double second = 0;
    };

    index_t samples = 0;
    index_t different = 0;  ///< number of samples that are not equal
    double squares = 0;     ///< sum of squared differences
    Sample largest;         ///< the first one with the largest difference
    index_t windows = 0;    ///< number of windows of SSIM
    double similarity = 0;  ///< sum of SSIM over the windows

    /// Adds the sums of samples that follow.
    void add(const ImageDifference& later);

    double rms() const;
    /// Returns the PSNR in dB, infinite for equal images; nothing for a range of 0.
    std::optional<double> psnr(double range) const;
    /// Returns the mean SSIM; nothing without windows, for a range of 0, and for images with NaN.
    std::optional<double> ssim() const;
};

/// Extends the range from `low` to `high` so that it includes the finite samples.
void extend_range(const double* samples, index_t count, double& low, double& high);

/// A box of two images as float64 samples in C order.
struct BoxPair {
    const double* first;
    const double* second;
    Shape3 shape;
    index_t rows;  ///< number of rows of a plane to compare; others complete windows of SSIM
    double range;  ///< difference between black and white, for SSIM
    Index3 begin;  ///< place of the box in the images
    index_t t;
};

/// Returns the sums over a box. Two NaN are equal. A NaN and a number differ by infinity.
ImageDifference difference_of(const BoxPair& box);

}  // namespace convolume::cli
