#pragma once

#include <string>

#include "cli/run/run_request.hpp"
#include "convolume/image_file.hpp"
#include "convolume/phantom.hpp"

namespace convolume::cli {

/// What `convolume phantom` was asked to do.
struct PhantomRequest {
    PhantomOptions options;
    std::string output;
    std::string objects;  ///< a JSON file with the list of objects; empty for none
    PixelType type = PixelType::float32;
    io::CreateOptions create;
    int threads = 0;
    bool json = false;
    Verbosity verbosity = Verbosity::normal;
};

/// Draws and writes, a few planes at a time.
void run_phantom(const PhantomRequest& request);

}  // namespace convolume::cli
