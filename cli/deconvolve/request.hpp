#pragma once
// What `convolume deconvolve` was asked to do.

#include <string>

#include "cli/files/kernel_file.hpp"
#include "cli/run/run_request.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct DeconvolveRequest {
    std::string image;
    std::string psf;
    std::string output;  ///< may be empty in a dry run
    std::string axes;    ///< of the image, when the file's own are to be overridden
    KernelChoice psf_choice;
    DeconvolveOptions options;
    EngineChoice engines;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    io::CreateOptions create;
    ReportOptions report;
};

}  // namespace convolume::cli
