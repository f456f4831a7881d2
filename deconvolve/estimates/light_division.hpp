// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the light of an image between an object and a constant background, by restorations of
// some of its photons and their prediction of others.

#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/volume.hpp"
#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/formulas.hpp"

namespace convolume::deconvolve {

/// A restoration of some of the photons, judged by the others.
struct Prediction {
    double background = 0;      ///< of a pixel, above the offset
    double error = 0;           ///< minus the log-likelihood of the other photons
    std::vector<float> errors;  ///< the same of each pixel
};

/// Restores an image by Richardson and Lucy's iterations, accelerated after Biggs and Andrews
/// (Appl. Opt. 36:1766, 1997), with a constant background that each iteration chooses anew, so that
/// the likelihood is largest. Counts are those above the offset; pixels below 0 are not compared.
class LightDivision {
  public:
    /// The convolvers are kept by reference. `others` are counts of other photons of the same
    /// image.
    LightDivision(const Convolver& blur, const Convolver& back, std::vector<float> counts,
                  std::vector<float> others, int threads);

    double mean() const { return mean_; }  ///< mean of the counts that are compared

    /// Restores from a constant object that has a share of the light. Ends when the other photons
    /// are predicted no better, with the best prediction.
    Prediction run(double share);

    /// Returns the range of the background above the offset. Halves the object's share at the
    /// start, until a share predicts worse than another one for certain. The range reaches to the
    /// nearest share on either side that is refuted. If the other photons are the same ones,
    /// nothing is refuted.
    LevelRange plausible_levels(bool has_others);

  private:
    double least_model() const { return 1e-6 * mean_; }
    template <class Sum>
    SumPair sum_of_rows(const Sum& sum) const;
    double most_likely_background(double b) const;
    Prediction prediction(double background) const;
    void compare(double background);
    double advance(std::vector<float>& estimate, std::vector<float>& previous,
                   std::vector<float>& change, const richardson_lucy::Extrapolation& extrapolation);

    const Convolver& blur_;
    const Convolver& back_;
    std::vector<float> counts_, others_;
    int threads_;
    Volume point_, step_, weights_, light_;
    double pixels_ = 0, mean_ = 0;
};

}  // namespace convolume::deconvolve
