// SPDX-License-Identifier: Apache-2.0
#pragma once
// The adjoint of a convolution: the range of its outputs, and folding. Folding is the adjoint of
// continuing an image by its boundary: samples outside are added to the samples
// from which they were copied.

#include <array>
#include <vector>

#include "core/pixels/rows.hpp"
#include "core/scratch_file.hpp"
#include "volumes/axis.hpp"

namespace convolume {

/// Whether an image with this boundary has non-zero samples outside of its extent.
bool continues_outside(BoundaryKind boundary);

/// Returns which outputs of a plain convolution are the adjoint. Input of the plain convolution are
/// the outputs `forward` of the forward one; its kernel is flipped. The adjoint has the samples i
/// of the image or, if it is `continued`, of the continued image. The mode `full` of the plain
/// convolution has at sample i - forward.begin + kernel - 1 the value
///     Σ_n conj(h[n - i]) y[n].
OutputRange adjoint_range(const OutputRange& forward, index_t image, index_t kernel,
                          bool continued);

/// Returns the source of every sample of the continued image along one axis.
std::vector<index_t> fold_sources(const OutputRange& forward, index_t image, index_t kernel,
                                  BoundaryKind boundary);

/// Computes target(k) = Σ extended(i) over all i with sources[axis][i] = k on every axis.
/// `extended` is contiguous and of type float32, float64 or complex. The target may be of any type,
/// and of a complex one if `extended` is complex.
ClampCount fold(const ConstImageView& extended, const std::array<std::vector<index_t>, 3>& sources,
                const ImageView& target, int threads);

/// Folds an image in scratch files as fold() does, and writes some planes to `sink` at a time.
ClampCount fold_planes(ScratchVolume& extended, const std::array<std::vector<index_t>, 3>& sources,
                       ImageSink& sink, int threads, const ExecutionContext& context);

}  // namespace convolume
