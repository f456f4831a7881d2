// SPDX-License-Identifier: Apache-2.0
#pragma once
// How fast this machine is, for predictions. Plans are made with rates that are built in, or with
// those that calibrate() has measured once.

#include <string>
#include <vector>

#include "convolume/export.hpp"

namespace convolume {

/// One figure that predictions are made of.
struct CalibratedRate {
    std::string name;         ///< in the file
    std::string meaning;      ///< in words
    bool per_second = false;  ///< bytes a second; else seconds
    double built_in = 0;
    double used = 0;  ///< measured, or built in where it could not be measured
};

struct Calibration {
    std::string machine;  ///< what the rates hold for: processor, threads, version of convolume
    std::string file;     ///< where they are kept; empty where there is no cache folder
    bool measured = false;
    std::vector<CalibratedRate> rates;
};

/// What predictions of this process are made of. The file is read once by a process; one that is
/// damaged, or of another machine, number of threads or version, is ignored.
CONVOLUME_API Calibration current_calibration();

/// Measures (less than 10 s, best while the machine does nothing else) and keeps the result in the
/// cache folder ($XDG_CACHE_HOME/convolume or ~/.cache/convolume), where later processes find it.
/// Files are written and read in `folder`; empty: in the cache folder. Throws Unavailable where
/// there is no cache folder, CannotCreate and IoError where a folder cannot be written.
CONVOLUME_API Calibration calibrate(const std::string& folder = {});

}  // namespace convolume
