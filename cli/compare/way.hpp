// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to solve a problem, as the lists of `convolume compare` combine to it.

#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cli {

struct Way {
    std::string device;     ///< as --devices has it: "cpu", "gpu:0+1"
    std::string method;     ///< as --methods has it
    int parts = 0;          ///< of method dif; 0: chosen by the plan
    index_t segment = 0;    ///< of the transforms of signals; 0: chosen by the plan
    std::string precision;  ///< "float32", "float64"
    int threads = 0;        ///< of the CPU; 0: all

    /// "cpu dif 4 parts float32 2 threads": what no list named is left out.
    std::string name() const;
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

/// All combinations. Parts only vary where the method is dif, segments only where it has transforms
/// of segments, threads only on the CPU.
std::vector<Way> combinations(const WayLists& lists);

}  // namespace convolume::cli
