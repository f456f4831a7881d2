// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to solve a problem, and the lists of `convolume compare` that are combined to ways.

#include <string>
#include <string_view>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

struct Way {
    std::string device;     ///< as --devices has it: "cpu", "gpu:0+1"
    std::string method;     ///< as --methods has it
    int parts = 0;          ///< of method dif; 0: chosen by the plan
    index_t segment = 0;    ///< of the transforms of signals; 0: chosen by the plan
    std::string precision;  ///< "float32", "float64"
    int threads = 0;        ///< of the CPU; 0: all

    /// "cpu dif 4 parts float32 2 threads"; values that no list names are left out.
    std::string name() const;
    EngineChoice engines() const;
    friend bool operator==(const Way&, const Way&) = default;
};

/// The lists of the command line.
struct WayLists {
    std::vector<std::string> devices;
    std::vector<std::string> methods;
    std::vector<int> parts{0};
    std::vector<index_t> segments{0};
    std::vector<std::string> precisions{"float32", "float64"};
    std::vector<int> threads{0};
};

/// All combinations. Parts vary only if the method is dif, segments only if it has transforms of
/// segments, threads only on the CPU.
std::vector<Way> combinations(const WayLists& lists);

/// "cpu", "auto", "gpu", "gpu:0", "gpu:0+1". Throws InvalidArgument that names --devices.
EngineChoice parse_compared_device(const std::string& text);

/// The values between commas, each once. Throws InvalidArgument for empty ones.
std::vector<std::string> split_list(std::string_view option, const std::string& text);

/// "64..512" (from the first on, doubled while not beyond the last), "64,100,128", or both. Throws
/// InvalidArgument.
std::vector<index_t> parse_sizes(std::string_view option, const std::string& text);

}  // namespace convolume::cli
