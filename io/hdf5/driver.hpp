// SPDX-License-Identifier: Apache-2.0
#pragma once
// How HDF5 reads the bytes of input files: through RawFile. HDF5's own way takes what a file does
// not give for zeros.

#include "io/hdf5/handle.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Opens a file for reading; not open where HDF5 refuses it. `file` must outlive it.
Hdf5Id open_hdf5_input(const RawFile& file);

/// Far more than looking through the descriptions of a file of that size takes.
HelperLimits limits_of_opening(const RawFile& file);

/// While it lives, HDF5 may not read more samples at once than that. Its functions that fill a
/// caller's memory are told no size: a damaged file can make them write beyond the end. The thread
/// holds Hdf5Lock.
class Hdf5SampleLimit {
  public:
    explicit Hdf5SampleLimit(index_t bytes);
    ~Hdf5SampleLimit();
    Hdf5SampleLimit(const Hdf5SampleLimit&) = delete;
    Hdf5SampleLimit& operator=(const Hdf5SampleLimit&) = delete;
    /// Bytes of samples that HDF5 has read since.
    index_t read() const;
};

/// Throws what made a file not give its bytes since the last call, if anything. The thread holds
/// Hdf5Lock.
void throw_failed_hdf5_read();

}  // namespace convolume::io
