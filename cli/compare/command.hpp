// SPDX-License-Identifier: Apache-2.0
#pragma once
// The commands `convolume compare` and `convolume compare filter`: their requests, and their runs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare/way.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Members that the requests of both commands have.
struct CompareRequest {
    std::string output;           ///< JSON file of the report
    WayOptionLists option_lists;  ///< options that are lists; without devices: CPU and GPUs
    std::vector<index_t> sizes;   ///< sizes of a sweep; empty: files are compared
    std::uint64_t seed = 1;
    int repeats = 3;
    double time_limit_s = 60;
    std::optional<index_t> max_host_bytes;
    std::string reference = "auto";    ///< "auto", "direct", "fft" or "none"
    std::optional<double> most_error;  ///< largest accepted relative L∞ error
    bool overwrite = false;
    RunOptions run;
};

struct ImageCompareRequest : CompareRequest {
    ImageCompareRequest() {
        option_lists.methods = {"auto", "in-core", "dif", "tiled", "direct"};
        options.normalization = KernelNormalization::sum;
    }
    std::string image;
    std::string kernel;
    index_t kernel_size = 0;  ///< kernel size of a sweep; 0: a quarter of the image's
    ImageSelection selection;
    KernelOptions kernel_options;
    Options options;  ///< only mode, boundary, normalization and NaN
};

struct SignalCompareRequest : CompareRequest {
    SignalCompareRequest() {
        option_lists.methods = {"auto", "direct", "overlap-save", "overlap-add", "partitioned"};
    }
    std::string signal;
    std::vector<std::string> filter_files;
    index_t filters = 8;  ///< number of filters of a sweep
    index_t taps = 0;     ///< taps of a filter in a sweep (0: 257), or in raw filter files
    io::OpenSignalOptions signal_options;
    FilterOptions options;  ///< only mode, origin and NaN
};

void compare(const ImageCompareRequest& request);
void compare(const SignalCompareRequest& request);

}  // namespace convolume::cli
