// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a caller asks for to the plain convolution that is run. The kernel is checked,
// normalized, flipped for correlations, and trimmed.

#include <array>
#include <complex>
#include <memory>
#include <vector>

#include "convolume/options.hpp"
#include "convolume/volume.hpp"
#include "volumes/axis.hpp"

namespace convolume {

/// The plain convolution of a plan; fixed while the plan lives. The operation is already resolved:
/// the kernel here is the one of a plain convolution.
struct ConvolutionProblem {
    Shape3 image;                                ///< extents of the image
    Shape3 kernel;                               ///< extents of the kernel
    PixelType image_type = PixelType::float32;   ///< decides host bytes only
    PixelType output_type = PixelType::float32;  ///< decides host bytes only
    index_t other_host_bytes = 0;  ///< further memory of an execution, beyond image and output
    bool streamed = false;         ///< image and output are read and written box by box
    /// Rates of a stream; 0: the engines' rates of files.
    double source_bytes_per_s = 0;
    double sink_bytes_per_s = 0;
    index_t executions = 0;     ///< volumes to come; 0: many
    double start_s = 0;         ///< that the engines took to start, whatever is chosen
    bool complex_data = false;  ///< complex image or complex kernel
    bool complex_kernel = false;
    bool rank1_kernel = false;
    Precision precision = Precision::float32;
    BoundaryKind boundary = BoundaryKind::zero;
    Box3 output;  ///< outputs wanted, in the coordinates of `full`

    AxisProblem axis(int a) const {
        return {image[a], kernel[a], boundary, output.begin[a], output.end[a]};
    }
};

struct ResolvedProblem {
    ConvolutionProblem problem;
    /// Ready for engines, trimmed as the problem's windows say.
    std::shared_ptr<const Volume> taps;
    double kernel_sum = 0;  ///< real part, as given
    Shape3 input_shape;     ///< what an execution takes
    Shape3 output_shape;    ///< and gives
    double subtract = 0;    ///< constant boundary: from the input, and added to the result
    std::complex<double> add = 0;
    /// An adjoint whose boundary continues the image: `problem` gives the continued image, which is
    /// folded back (adjoint.hpp). Source of every sample of the continued image, along each axis.
    bool folds = false;
    std::array<std::vector<index_t>, 3> fold_sources;
};

/// Throws InvalidArgument and BadData as Convolver's constructor does.
ResolvedProblem resolve_problem(const Shape3& image, const ConstImageView& kernel,
                                const Options& options, PixelType image_type,
                                PixelType output_type);

/// Throws InvalidArgument where a complex result is to be stored as a real type.
void check_result_type(bool complex_data, PixelType type);

}  // namespace convolume
