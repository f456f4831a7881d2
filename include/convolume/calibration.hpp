// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rates of this machine, such as bytes a second, from which plans predict their time. They are
// built in, or calibrate() has measured them once.

#include <string>
#include <vector>

#include "convolume/export.hpp"

namespace convolume {

/// One rate from which times are predicted.
struct CalibratedRate {
    std::string name;         ///< name of the rate in the file
    std::string meaning;      ///< what the rate measures, in some words for people
    bool per_second = false;  ///< whether the unit is bytes a second; else it is seconds
    double built_in = 0;      ///< value that is built in
    double used = 0;          ///< value in use: measured, or built in if it could not be measured
};

/// The rates of this machine, and the file that keeps them.
struct Calibration {
    std::string machine;    ///< processor, number of threads, and version of convolume
    std::string file;       ///< path of the file; empty if there is no cache folder
    bool measured = false;  ///< whether the rates were measured; else they are built in
    std::vector<CalibratedRate> rates;
};

/// Returns the rates that predictions of this process use. A process reads the file once. A file
/// that is damaged, or of another machine, number of threads or version, is ignored.
/// @code{.cpp}
/// for (const CalibratedRate& rate : current_calibration().rates)
///     std::cout << rate.meaning << ": " << rate.used << '\n';
/// @endcode
CONVOLUME_API Calibration current_calibration();

/// Measures the rates of this machine, which takes less than 10 s and should be done while it is
/// idle. Keeps the result in the cache folder ($XDG_CACHE_HOME/convolume or ~/.cache/convolume),
/// from which later processes read it. Files for the measurement are written and read in `folder`;
/// if empty, in the cache folder. Throws Unavailable if there is no cache folder, CannotCreate and
/// IoError if a folder cannot be written.
/// @code{.cpp}
/// if (!current_calibration().measured) calibrate();
/// @endcode
CONVOLUME_API Calibration calibrate(const std::string& folder = {});

}  // namespace convolume
