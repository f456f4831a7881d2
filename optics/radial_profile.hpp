// SPDX-License-Identifier: Apache-2.0
#pragma once
// Intensity over the distance from the axis, for one z after another.

#include <vector>

#include "optics/pupil.hpp"

namespace convolume::optics {

/// Intensities at fixed radii. Bessel functions do not depend on z: they are computed once.
class RadialProfile {
  public:
    RadialProfile(const PsfOptions& options, const Extent& extent, std::vector<double> radii_um,
                  int threads, const ExecutionContext& context);

    index_t radii() const { return static_cast<index_t>(radii_um_.size()); }
    /// How many doubles add_intensity() needs of scratch memory.
    index_t scratch_elems() const { return index_t{2} * pupil_.terms() * pupil_.nodes(); }
    /// sum[i] += weight · h(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// ∫ h 2πr dr over the whole plane.
    double plane_energy(double z_um) const;

  private:
    void add_gaussian(double z_um, double weight, double* sum) const;

    PsfOptions options_;
    std::vector<double> radii_um_;
    Pupil pupil_;
    Buffer bessel_;  // double [radius][term][node]
};

}  // namespace convolume::optics
