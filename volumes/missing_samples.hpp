// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalized convolution, for images some of whose samples are missing (Knutsson and Westin,
// "Normalized and differential convolution", CVPR 1993): with m = 1 where a sample x is there, and
// 0 where it is missing, the result is Σh · (h * (m x)) / (h * m).

#include "convolume/image_stream.hpp"
#include "convolume/image_view.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Returns 1 for the elements of an image that are finite, and 0 for others, as float32.
Volume finite_mask(const ConstImageView& image, int threads);

/// Reads the finite_mask() of an image that is not in memory.
class FiniteMask : public ImageSource {
  public:
    FiniteMask(ImageSource& image, int threads) : image_(image), threads_(threads) {}

    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ImageSource& image_;
    int threads_;
};

/// Turns sums over the samples that are there into results.
struct KernelWeight {
    double sum = 0;    ///< Σh of the normalized kernel
    double least = 0;  ///< least |h * m| that is more than rounding errors of the convolution

    /// Takes Σh and Σ|h|. Throws InvalidArgument for a kernel whose sum vanishes.
    KernelWeight(double sum, double magnitudes, bool is_double);

    /// Divides `sums`, h * (m x), by `weights`, h * m, of the same shape and type. Results without
    /// samples are NaN. Both are contiguous, and float32 or float64; `sums` is changed.
    ClampCount divide(const ImageView& sums, const ConstImageView& weights, const ImageView& output,
                      int threads) const;
};

}  // namespace convolume
