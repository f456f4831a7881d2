// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of thumb of deconvolution. Each group names the program that measures what its numbers
// do, or the principle that gives them. Factors that follow from a formula stay beside the formula.

#include "convolume/shape.hpp"

namespace convolume::deconvolve {

/// Shares and numbers of samples that all rules have in common, so that none has its own.
/// Principles give them. bench/restoration/light.py and bench/everyday_stacks.py measure what they
/// decide.
namespace common {

/// Least share, of light or of pixels, that makes a difference. If all but such a share of
/// something has a property, it nearly has it as a whole.
inline constexpr double noticeable = 0.1;
/// Shares of the pixels that may be outliers of noise (`rare`), and that are too small to make a
/// difference (`never`).
inline constexpr double rare = 1e-2, never = 1e-5;
/// Number of events from which on a rate can be judged: it varies by less than a third.
inline constexpr index_t few = 10;
/// Least number of samples for a median or a quartile, whose error is then a sixth of the samples'
/// deviation.
inline constexpr index_t fewest = 64;
/// Number of samples beyond which more make no difference: the error of a median is 0.4 % of their
/// deviation, and that of a variance as much of the variance.
inline constexpr index_t enough = 1 << 17;

}  // namespace common

/// Numbers of iterations that nothing else decides. bench/deconvolve_quality.py shows the quality
/// against the number, bench/restoration/compare.py what searches find.
namespace numbers {

inline constexpr int usual_iterations = 30;
/// Largest number of a search. Few recordings gain from more (compare.py --most).
inline constexpr int most_searched = 200;
/// Largest number of a method that iterates until it has converged, and the residual at which it
/// has: a share of the light. Bright and sharp structures still gain tenths of a decibel from a
/// smaller one (bench/restoration/light.py --method map --options="--stop 1e-4").
inline constexpr int most_converging = 300;
inline constexpr double converged_residual = 2e-4;

}  // namespace numbers

/// The search for the number of iterations by halves of the photons. bench/restoration/rules.py
/// compares it with other rules, and bench/restoration/compare.py with the best number;
/// bench/single_planes.py does so for single planes.
namespace search {

/// Least extent of a part along y and x, if the image has as many pixels.
inline constexpr index_t least_part_extent = 64;
/// Share of an image's extents along y and x that a part has, and the largest number of pixels of a
/// part, unless its extents are the least ones: a search shall take less time than the result.
inline constexpr double share_of_image = 1.0 / 3;
inline constexpr double most_part_pixels = 1 << 23;

/// Iterations of the first reference, and the factor from one reference to the next one. A single
/// plane has few pixels for an object, and the more so if it also gets the light of planes out of
/// focus. References of many iterations then have the specks of a PSF that is not quite that of the
/// recording, which are equal in both halves.
inline constexpr double first_reference = 80, first_reference_of_plane = 25, next_reference = 2.5;
/// Iterations of the first reference if the coarser image was searched, as a multiple of the number
/// that is nearest on the coarser image, but at least the usual number. Halves start from the
/// coarser image, and take fewer iterations than it took.
inline constexpr double reference_after_coarser = 1.5;
/// Share of a reference's iterations beyond which it has too few of them to judge others: it is
/// itself blurred, and finds too small a number.
inline constexpr double judged_share = 0.5;
/// Largest misfit of a reference for another one to follow, as the deviance of a pixel less 1; or
/// as a share of the misfit after half of its iterations. A larger misfit that stays is not noise:
/// the PSF is not that of the recording, and the specks that more iterations make of this are equal
/// in both halves.
inline constexpr double most_misfit = 0.15;
inline constexpr double most_lasting = 0.4;
/// Factor from the number of iterations after which halves are nearest to the best number for all
/// photons, which have less noise: of a PSF without haze, and what is added for the share of haze
/// in a PSF's light. With much haze, iterations restore detail for longer, and too many cost less:
/// without this, 29 scenes lose 0.07 dB in the mean (calibrate.py). For single planes, the number
/// of halves is best.
inline constexpr double from_half_to_all = 1.25;
inline constexpr double more_with_haze = 0.4;
/// Number of iterations away from the reference that end a search, and their share of the best; and
/// of those without a better prediction of held-out photons.
inline constexpr int least_patience = 4;
inline constexpr double patience_share = 0.15;

}  // namespace search

/// The search by held-out photons in a whole image, whose prediction rules.py compares, too.
namespace prediction {

/// Least relative decrease of the error for a prediction to count as better. A flat curve goes on
/// falling by chance, while the estimate becomes grainy in a way that the PSF hides from the
/// prediction.
inline constexpr double least_gain = 3e-5;

}  // namespace prediction

/// The search for the weight of a roughness. Principles give these numbers: predictions with
/// weights of a factor differ by more than chance, and a parabola is a good approximation between
/// them.
namespace weights {

/// The first weight, relative to 1 / photons: the second one is that for which √x of bright
/// neighbors differs by about as much as it is. Factor from one weight to the next, and the largest
/// number of steps in either direction.
inline constexpr double first_over_photons = 4, factor = 4;
inline constexpr int most_steps = 8;

}  // namespace weights

/// The background under haze. bench/restoration/light.py measures the levels
/// that it finds, on kinds of specimens and microscopes that these numbers were not chosen by.
namespace haze {

/// Standard errors by which photons that are not known are predicted worse for certain: the
/// two-sided limit of 95 % of a normal distribution.
inline constexpr double certain_errors = 1.96;
/// Iterations at most, and number of iterations without a better prediction that end a restoration:
/// accelerated ones may predict worse for some iterations.
inline constexpr int most_iterations = 100, patience = 12;
/// Pixels of a coarse image: few enough for a short time, and more for large images, whose gaps
/// would otherwise be smaller than a coarse pixel.
inline constexpr index_t coarse_pixels = 1 << 15;
inline constexpr index_t fine_for_coarse = 1 << 10;

}  // namespace haze

/// The usual level of an image, and its dark regions: as many samples as make the error of a level
/// small beside noise (tests/deconvolve/test_pixels.cpp). bench/restoration/light.py --levels
/// measures the levels of kinds of specimens and microscopes.
namespace regions {

/// Edge of a region, a square of a plane: small enough to lie between objects, large enough for a
/// mean. What a PSF spreads beyond twice the edge along y or x is haze.
inline constexpr index_t edge = 8, reach = 2 * edge;
/// Levels below which they are of fewer pixels than a region's row.
inline constexpr index_t few_levels = 1 << 12;

}  // namespace regions

/// A background that varies over y and x (background_slope.hpp). Principles give these numbers.
namespace varying {

/// Least edge of a region: twice the reach within which a PSF without haze keeps its light, so that
/// a region is larger than the image of a point.
inline constexpr index_t least_edge = 2 * regions::reach;
/// Regions are a third of the image, if that is more: the more pixels they have, the surer some are
/// dark; five along an axis overlap by half.
inline constexpr index_t edges_of_image = 3;
/// Standard errors above the plane that chance exceeds in one of 700 regions.
inline constexpr double most_errors = 3;

}  // namespace varying

/// The gain and the offset by the image's noise. tests/deconvolve/test_held_out.cpp has recordings
/// whose gain is known.
namespace noise {

inline constexpr index_t enough_pixels = 1 << 19;
inline constexpr std::size_t levels = 64;
/// Noise that is not in proportion to the light misses the line by more.
inline constexpr double most_missed = 0.2;
/// Structures of the image make a small offset uncertain by this share of the mean brightness.
inline constexpr double least_share_of_offset = 0.04;
/// Least share of white noise in that of photons. A shift by a sixth of a pixel leaves three
/// quarters, and makes the gain 1.4 times too large.
inline constexpr double least_white_share = 0.75;

}  // namespace noise

/// Coarser images to start from: bench/deconvolve_quality.py --only coarse-start.
namespace coarsening {

/// Least extent of an axis to halve. Shorter axes cost little, and hold no broad structures.
inline constexpr index_t least_extent = 16;
/// Largest contrast of a wave of four fine pixels a period, the finest detail that coarse pixels
/// show, along an axis to halve.
inline constexpr double most_contrast = 0.5;

}  // namespace coarsening

/// Pixels without data. tests/deconvolve/test_missing_pixels.cpp has images with and without them;
/// the probabilities are those of chance.
namespace no_data {

/// Least number of equal pixels in a row that count as a run. Normal noise of one gray level
/// repeats a value so often once in two thousand pixels: the sum of the 8th powers of the values'
/// probabilities.
inline constexpr index_t least_run = 8;
/// Pixels from an edge before which a margin must end.
inline constexpr index_t most_margin = 8;
/// Pixels of a plane, of a row or a column, and steps and values of a plane that are looked at:
/// their quantiles vary by less than a tenth of the pixels' deviation.
inline constexpr std::size_t samples = 256;
/// Share of the pixels of a row or a column that are darker than its dark level.
inline constexpr double dark_share = 0.25;
/// Number of pixels beside a region that interpolation may have mixed with its value.
inline constexpr std::size_t most_grown = 2;

}  // namespace no_data

/// Hot, dead and saturated pixels, tested as those without data are.
namespace camera_pixels {

/// Rare deviations are seen, although fewer pixels are outliers. Noise whose tails fall off
/// exponentially, slower than those of Poisson's and normal distributions, exceeds 5 times as much
/// once in 10^10 pixels.
inline constexpr float factor = 5;
/// Outliers make the noise look larger, until they are known.
inline constexpr int most_rounds = 4;
/// Planes that tell a pixel of the camera.
inline constexpr index_t fewest_planes = 5;

}  // namespace camera_pixels

/// The smoothness of a total variation, whose weight follows from the noise. Methods beside each
/// other: bench/restoration/methods.py.
namespace smoothing {

/// ε of the total variation, relative to the weight, and its least share of the image's mean. The
/// slope of a larger weight changes faster, and would make steps overshoot.
inline constexpr double rounding_of_weight = 40;
inline constexpr double least_rounding = 1e-3;

}  // namespace smoothing

/// Optics that fit a recording: bench/restoration/fitted_psf.py.
namespace psf_fit {

inline constexpr double least_gain = 1e-3;  ///< smaller gains do not show in the result
/// Planes that tell how light spreads out of focus.
inline constexpr index_t fewest_planes = 3;

}  // namespace psf_fit

}  // namespace convolume::deconvolve
