// SPDX-License-Identifier: Apache-2.0
#pragma once
// The adjoint of a convolution: its outputs, and the adjoint of continuing an image by its
// boundary, where what was copied outward is summed back.

#include <array>
#include <vector>

#include "core/pixels/rows.hpp"
#include "core/scratch_file.hpp"
#include "volumes/axis.hpp"

namespace convolume {

/// Whether images have samples outside of their extent.
bool continues_outside(BoundaryKind boundary);

/// Outputs of the plain convolution of the forward convolution's output (`forward`) with the
/// flipped kernel, at positions i of the image or, where it is `continued`, of the continued image.
/// Sample i - forward.begin + kernel - 1 of that `full` is Σ_n conj(h[n - i]) y[n].
OutputRange adjoint_range(const OutputRange& forward, index_t image, index_t kernel,
                          bool continued);

/// Source of every sample of the continued image along one axis.
std::vector<index_t> fold_sources(const OutputRange& forward, index_t image, index_t kernel,
                                  BoundaryKind boundary);

/// target(k) = Σ extended(i) over all i with sources[axis][i] = k on every axis. `extended` is
/// contiguous float32/64 or complex; the target may be of any type that holds its kind.
ClampCount fold(const ConstImageView& extended, const std::array<std::vector<index_t>, 3>& sources,
                const ImageView& target, int threads);

/// The same for images that are not in memory, some planes of `sink` at a time.
ClampCount fold_planes(ScratchVolume& extended, const std::array<std::vector<index_t>, 3>& sources,
                       ImageSink& sink, int threads, const ExecutionContext& context);

}  // namespace convolume
