// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings of finished deconvolutions. The sentences name options, which become those of the
// command or the keywords of Python (Sentence::with_names).

#include <optional>
#include <string>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"

namespace convolume {

/// What is known after the deconvolution of one or several volumes.
struct RestorationFacts {
    std::vector<DeconvolveReport> volumes;
    DeconvolveOptions options;    ///< as resolved() returns them
    bool psf_is_made = false;     ///< whether the PSF was computed from the microscope's parameters
    bool psf_is_refined = false;  ///< whether these were fitted to the image
    /// Changes of the microscope's parameters that fit better, such as "NA 1.45 → 1.28"; empty if
    /// none does, unset if none was tried.
    std::optional<std::string> better_optics;
    /// Sentence on saturated pixels that the method compares as they are; empty if there are none.
    std::string saturated;
    /// Least share of its image's light that a result has, if it is known.
    std::optional<double> least_light;
};

/// Returns the index of the volume whose image differs most from its blurred result, if that is by
/// much more than noise after as many iterations as a search found.
std::optional<std::size_t> misfitting_volume(const std::vector<DeconvolveReport>& volumes);

/// Returns what is doubtful, first what changes the results most.
std::vector<Sentence> restoration_warnings(const RestorationFacts& facts);

}  // namespace convolume
