// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to solve a problem, and the lists of `convolume compare` whose combinations are the ways.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

/// One combination of device, method, parts or segment, precision, threads and transforms.
struct Way {
    std::string device;     ///< a value of --devices, such as "cpu" or "gpu:0+1"
    std::string method;     ///< a value of --methods, such as "fft"
    int parts = 0;          ///< parts of method dif; 0: chosen by the plan
    index_t segment = 0;    ///< length of the transforms of signals; 0: chosen by the plan
    std::string precision;  ///< "float32" or "float64"
    int threads = 0;        ///< number of CPU threads; 0: all
    FftLibrary fft = FftLibrary::automatic;

    /// Returns a name such as "cpu dif 4 parts float32 2 threads", without automatic values.
    std::string name() const;
    EngineChoice engines() const;
};
/// Returns the members of a way and its name, which tells it from all others.
nlohmann::ordered_json to_json(const Way& way);

/// The lists of the command line whose combinations are the ways.
struct WayOptionLists {
    std::vector<std::string> devices;
    std::vector<std::string> methods;
    std::vector<int> parts{0};
    std::vector<index_t> segments{0};
    std::vector<std::string> precisions{"float32", "float64"};
    std::vector<int> threads{0};
    std::vector<FftLibrary> fft{FftLibrary::automatic};
};

/// Returns all combinations of the lists. Parts vary only if the method is dif, segments only if
/// the method transforms segments, and threads and the library of transforms only on the CPU.
std::vector<Way> combinations(const WayOptionLists& lists);

/// Parses "cpu", "auto", "gpu", "gpu:0" or "gpu:0+1". Throws InvalidArgument that names --devices.
EngineChoice parse_compared_device(const std::string& text);

/// Returns the values between commas, each once. Throws InvalidArgument for empty values.
std::vector<std::string> split_list(std::string_view option, const std::string& text);

/// Parses "64..512" (doubled up to the last), "64,100,128", or both. Throws InvalidArgument.
std::vector<index_t> parse_sizes(std::string_view option, const std::string& text);

}  // namespace convolume::cli
