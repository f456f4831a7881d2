// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns a caller's image shape, kernel and options into the plain convolution that is run. The
// kernel is checked, normalized, flipped for correlations and adjoints, and trimmed.

#include <array>
#include <complex>
#include <memory>
#include <optional>
#include <vector>

#include "convolume/options.hpp"
#include "convolume/volume.hpp"
#include "volumes/axis.hpp"
#include "volumes/missing_samples.hpp"

namespace convolume {

/// The plain convolution, without correlations and adjoints, that a plan is for.
struct ConvolutionProblem {
    Shape3 image;   ///< extents of the image
    Shape3 kernel;  ///< extents of the kernel
    /// Types of image and output. They enter predictions of bytes and transfers only.
    PixelType image_type = PixelType::float32;
    PixelType output_type = PixelType::float32;
    index_t other_host_bytes = 0;  ///< bytes of an execution besides image, output and engines
    bool streamed = false;         ///< image and output are read and written box by box
    /// Bytes a second that reading and writing a stream reach; 0 for the file rates of the engines.
    double source_bytes_per_s = 0;
    double sink_bytes_per_s = 0;
    bool sink_in_memory = false;  ///< what is written needs no write-back to a disk
    index_t executions = 0;       ///< number of volumes that are expected; 0 for many
    double start_s = 0;           ///< seconds to start all engines, also unused ones
    bool complex_data = false;    ///< whether image or kernel is complex
    bool complex_kernel = false;
    bool rank1_kernel = false;
    Precision precision = Precision::float32;
    BoundaryKind boundary = BoundaryKind::zero;
    Box3 output;  ///< outputs wanted, in the coordinates of mode full

    AxisProblem axis(int a) const {
        return {image[a], kernel[a], boundary, output.begin[a], output.end[a]};
    }
};

/// A plain convolution with its kernel, and the steps before and after it.
struct ResolvedProblem {
    ConvolutionProblem problem;
    /// Taps in the type that engines take, trimmed as the windows of the problem say.
    std::shared_ptr<const Volume> taps;
    Index3 peak;            ///< index in `taps` of a largest magnitude, or outside if it is trimmed
    double kernel_sum = 0;  ///< real part of the sum of the kernel, before it is normalized
    Shape3 input_shape;     ///< shape of the input of an execution
    Shape3 output_shape;    ///< shape of the output of an execution
    double subtract = 0;    ///< value to subtract from the input, for a constant boundary
    std::complex<double> add = 0;  ///< value to add to the result, for a constant boundary
    /// The same for an image of ones, of which samples of value 1 are outside of a zero or constant
    /// boundary; set if samples may be missing.
    double subtract_of_ones = 0, add_of_ones = 0;
    std::optional<KernelWeight> weight;  ///< set if samples may be missing
    /// Whether the result of `problem` is a continued image that is folded afterwards
    /// (adjoint.hpp). This holds for an adjoint whose boundary continues the image.
    bool folds = false;
    /// Source of every sample of the continued image, along each axis.
    std::array<std::vector<index_t>, 3> fold_sources;
};

/// Resolves the problem that a Convolver is made of. Throws InvalidArgument and BadData as its
/// constructor does. `given_up` is null, or holds the kernel: its memory is then used or released.
ResolvedProblem resolve_problem(const Shape3& image, const ConstImageView& kernel,
                                const Options& options, PixelType image_type, PixelType output_type,
                                Volume* given_up = nullptr);

/// Throws InvalidArgument for complex results that are to be stored as a real type.
void check_result_type(bool complex_data, PixelType type);

}  // namespace convolume
