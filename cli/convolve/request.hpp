#pragma once
// What `convolume convolve` was asked to do.

#include <optional>
#include <string>
#include <string_view>

#include "cli/files/kernel_file.hpp"
#include "cli/run/run_request.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ConvolveRequest {
    ConvolveRequest() { options.normalization = KernelNormalization::sum; }

    std::string image;
    std::string kernel;
    std::string output;  ///< may be empty in a dry run
    std::string axes;    ///< of the image, when the file's own are to be overridden
    KernelChoice kernel_choice;
    Options options;
    EngineChoice engines;
    std::string output_type;  ///< a type's name, "same", or empty for the natural type
    io::CreateOptions create;
    ReportOptions report;
};

/// "auto" is 0; else 1, 2, 4, 8 or 16.
int parse_parts(std::string_view text);

io::Compression parse_compression(std::string_view text);

/// The type of the pixels written for a request's `output_type`; natural: complex where an input
/// is, floating point of the given precision.
PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision);

/// Shape of the image that a Convolver is planned for, given the file's shape: they differ for the
/// adjoint, whose input is what a convolution would have put out.
Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options);

}  // namespace convolume::cli
