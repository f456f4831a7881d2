// SPDX-License-Identifier: Apache-2.0
#pragma once
// A measured point spread function: the mean of many beads in one stack.

#include <array>
#include <optional>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/volume.hpp"

namespace convolume {

struct BeadOptions {
    Shape3 size;                       ///< of the PSF in voxels, odd on every axis
    std::optional<double> saturation;  ///< beads with several samples at this value are left out
};

struct Bead {
    std::array<double, 3> at;  ///< z, y, x in voxels
    double flux;               ///< of its box, without background
};

struct BeadPsf {
    Volume values;  ///< float32, sum 1, its brightest point in the middle voxel
    std::vector<Bead> beads;
    index_t found = 0;  ///< of all kinds
    // Left out:
    index_t crowded = 0;           ///< another bead is in the box
    index_t saturated = 0;         ///< see BeadOptions
    index_t at_border = 0;         ///< the box leaves the stack
    index_t unusual = 0;           ///< less than 0.4 or more than 2.5 times the median flux
    double background = 0;         ///< mean of the samples outside of all boxes
    double flux = 0;               ///< mean of the beads
    std::array<double, 3> fwhm{};  ///< full widths at half maximum along z, y, x in voxels
};

/// Finds beads, aligns them to a fraction of a voxel by least squares against their mean, and
/// averages. Between samples, values are interpolated by a windowed sinc, which keeps widths.
/// `stack`: float32, contiguous. Throws InvalidArgument (sizes, no bead that can be used) or
/// Cancelled.
CONVOLUME_API BeadPsf psf_from_beads(const ConstImageView& stack, const BeadOptions& options,
                                     const ExecutionContext& context = {});

}  // namespace convolume
