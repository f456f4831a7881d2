// SPDX-License-Identifier: Apache-2.0
#pragma once
// One template of a correlation bank: its scale, its taps, and its SNR at single positions.

#include <complex>
#include <vector>

#include "convolume/volume.hpp"

namespace convolume {

class MatchedTemplate {
  public:
    /// Copies a row of samples. `index` numbers the template in messages. Throws InvalidArgument
    /// (no samples), BadData (NaN, or zeros alone).
    MatchedTemplate(const ConstImageView& rows, index_t row, index_t index, double noise);

    index_t size() const { return samples_.shape().x; }
    bool is_complex() const { return convolume::is_complex(samples_.type()); }
    /// Returns conj(h[K−1−k]) / (noise · sqrt(Σ|h|²)) in double precision.
    Volume taps() const;
    /// Computes ρ at `count` consecutive positions, from the signal's samples at the first position
    /// and the count + size() − 2 samples after it.
    std::vector<std::complex<double>> snr(const std::complex<double>* signal, index_t count) const;

  private:
    std::vector<std::complex<double>> loaded() const;

    Volume samples_;
    double scale_ = 0;  ///< 1 / (noise · sqrt(Σ|h|²))
};

/// Loads the templates of all views, (1, 1, K) or (1, T, K) each. Throws InvalidArgument (shapes,
/// an empty bank, a noise that is not above 0) and as MatchedTemplate does.
std::vector<MatchedTemplate> load_templates(const std::vector<ConstImageView>& views, double noise);

}  // namespace convolume
