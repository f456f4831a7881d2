// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times and frequencies of signals in files: names of their members, checks, and the JSON file
// beside an NPY file.

#include <memory>
#include <string>
#include <vector>

#include "convolume/signal_file.hpp"
#include "io/atomic_output.hpp"

namespace convolume::io {

/// Names of attributes of HDF5 and of members of JSON.
namespace coordinate_names {
inline constexpr const char* sampling_rate = "sampling_rate_hz";
inline constexpr const char* start = "start_s";
inline constexpr const char* center_frequencies = "center_frequencies_hz";
}  // namespace coordinate_names

/// Most channels whose center frequencies are read.
inline constexpr index_t most_frequencies = index_t{1} << 22;

/// Throws BadData if coordinates that were read cannot be those of an array of `dims` in `path`.
void check_coordinates(const std::string& path, const SignalCoordinates& coordinates,
                       const std::vector<index_t>& dims);

/// Reads the JSON file beside an NPY file. A file without a sampling rate is not convolume's, and
/// counts as none. Throws BadData.
SignalCoordinates coordinates_beside(const std::string& npy_path, const std::vector<index_t>& dims);

/// Writer of the JSON file beside an NPY file. Coordinates that are not known remove a file that an
/// earlier array left.
class CoordinatesBeside {
  public:
    /// Throws OutputExists if such a file exists and `overwrite` is false.
    CoordinatesBeside(const std::string& npy_path, const CreateSignalOptions& options);
    /// Throws IoError or OutputExists.
    void commit();

  private:
    std::string path_;
    bool removes_old_;
    std::unique_ptr<AtomicOutput> output_;  ///< null if there is nothing to write
};

}  // namespace convolume::io
