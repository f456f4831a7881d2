// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume compare` and `convolume compare filter` from the request to the report.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare/runner.hpp"
#include "cli/compare/way.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Members that both commands have.
struct CompareRequest {
    std::string output;          ///< a folder
    WayLists lists;              ///< no devices: CPU and GPUs
    std::vector<index_t> sizes;  ///< of a sweep; empty: files are compared
    std::uint64_t seed = 1;
    int repeats = 3;
    double time_limit_s = 60;
    std::optional<index_t> max_host_bytes;
    ReferenceKind reference = ReferenceKind::automatic;
    std::optional<double> most_error;  ///< relative L∞
    bool overwrite = false;
    bool resume = false;
    RunOptions run;
};

struct ImageCompareRequest : CompareRequest {
    ImageCompareRequest() {
        lists.methods = {"auto", "in-core", "dif", "tiled", "direct"};
        options.normalization = KernelNormalization::sum;
    }
    std::string image;
    std::string kernel;
    index_t kernel_size = 0;  ///< of a sweep; 0: a quarter of the image's
    ImageSelection selection;
    KernelOptions kernel_options;
    Options options;  ///< mode, boundary, normalization, NaN
};

struct SignalCompareRequest : CompareRequest {
    SignalCompareRequest() {
        lists.methods = {"auto", "direct", "overlap-save", "overlap-add", "partitioned"};
    }
    std::string signal;
    std::vector<std::string> filter_files;
    index_t filters = 8;  ///< of a sweep
    index_t taps = 0;     ///< of a sweep, 257 if none are given; of raw filter files
    io::OpenSignalOptions signal_options;
    FilterOptions options;  ///< mode, origin, NaN
};

void compare(const ImageCompareRequest& request);
void compare(const SignalCompareRequest& request);

/// FNV-1a of 64 bits, in hexadecimal.
std::string checksum(const Volume& volume);

}  // namespace convolume::cli
