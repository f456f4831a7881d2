// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of Resampler.

#include <complex>
#include <string_view>

#include "convolume/export.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// How a signal continues beyond its ends, with the names and values of scipy.signal.upfirdn.
enum class SignalExtension {
    constant,       ///< ResampleOptions::value
    edge,           ///< the first or the last sample
    wrap,           ///< the signal repeats
    symmetric,      ///< reflection that repeats the samples at the ends
    reflect,        ///< reflection at the samples at the ends
    antisymmetric,  ///< as symmetric, with the opposite sign
    antireflect,    ///< as reflect, point-symmetric about the samples at the ends
    smooth,         ///< the line through the last two samples
    line            ///< the line through the first and the last sample
};
/// Returns the name of the extension, such as "reflect".
CONVOLUME_API const char* to_string(SignalExtension extension);
/// Parses a name that to_string() returns. Throws InvalidArgument, which lists the names, for
/// others.
CONVOLUME_API SignalExtension parse_signal_extension(std::string_view text);

/// Options of Resampler.
struct ResampleOptions {
    index_t up = 1;    ///< factor by which the sampling rate is raised
    index_t down = 1;  ///< factor by which it is then lowered
    /// Tap that meets sample 0 in result 0: 0 for a causal filter, the middle tap for a symmetric
    /// filter without delay.
    index_t origin = 0;
    SignalExtension extension = SignalExtension::constant;
    std::complex<double> value = 0;  ///< value beyond the ends with SignalExtension::constant
    Precision precision = Precision::float32;  ///< precision of sums and results
    int threads = 0;                           ///< threads of the CPU; 0: all processors
};

}  // namespace convolume
