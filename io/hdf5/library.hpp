// SPDX-License-Identifier: Apache-2.0
#pragma once
// The use of the HDF5 library: identifiers, a lock, error messages, and input files that are read
// through RawFile. HDF5's own file access would read missing bytes of a file as zeros.

#include <hdf5.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/helper_process.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Lock on the HDF5 library, which may not support threads. Under it, HDF5 prints no errors.
class Hdf5Lock {
  public:
    Hdf5Lock();
    ~Hdf5Lock();
    Hdf5Lock(const Hdf5Lock&) = delete;
    Hdf5Lock& operator=(const Hdf5Lock&) = delete;

  private:
    std::unique_lock<std::recursive_mutex> lock_;
    H5E_auto2_t print_ = nullptr;
    void* print_data_ = nullptr;
};

/// Runs `work`, calls of HDF5 that read `path`, in a helper process if damage is to be contained.
/// Returns true if it did (helper_process.hpp). Throws what run_in_helper() throws, and BadData if
/// HDF5 was refused memory, even if it continued. The caller holds Hdf5Lock.
bool try_hdf5(const std::string& path, const HelperLimits& limits,
              const std::function<void()>& work);

/// An identifier of an HDF5 object. The destructor closes it.
class Hdf5Id {
  public:
    using Closer = herr_t (*)(hid_t);

    Hdf5Id() = default;
    Hdf5Id(hid_t id, Closer closer) : id_(id), close_(closer) {}
    ~Hdf5Id() { close(); }
    Hdf5Id(Hdf5Id&& other) noexcept
        : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
    Hdf5Id& operator=(Hdf5Id&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }

    explicit operator bool() const { return id_ >= 0; }
    hid_t get() const { return id_; }
    /// Closes the object. Returns false if the library reports an error.
    bool close() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

  private:
    hid_t id_ = H5I_INVALID_HID;
    Closer close_ = nullptr;
};

/// Selection of a box in a dataset, and of contiguous memory for it. The box begins at `start` and
/// has `count` elements along every dimension.
struct Hdf5Box {
    Hdf5Box(hid_t dataset, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count);
    /// Tells whether HDF5 could select the box.
    explicit operator bool() const { return is_selected; }

    Hdf5Id in_file;
    Hdf5Id in_memory;
    bool is_selected;
};

/// Returns the innermost reason of the last failed call, in HDF5's words. Throws the error of an
/// input file if that was the cause, and OutOfMemory if memory is short.
std::string hdf5_reason();
/// Returns "REASON; CURE" with the reason of hdf5_reason(). The cure is `cure_of_damage`, unless
/// the file seems to need a newer HDF5.
std::string hdf5_failure(const std::string& cure_of_damage);
/// Returns the reason of a failed call on an output file. Throws OutOfMemory if memory was refused.
std::string hdf5_write_reason();

/// Opens a file for reading; invalid if HDF5 refuses the file. `file` must outlive the result.
Hdf5Id open_hdf5_input(const RawFile& file);

/// Returns generous limits for reading the descriptions of all objects in a file.
HelperLimits limits_of_opening(const RawFile& file);

/// Limit for the bytes of samples that HDF5 may read at once while this object exists. HDF5's
/// functions that fill the caller's memory are not told its size, so a damaged file could make them
/// write beyond its end. The caller holds Hdf5Lock.
class Hdf5SampleLimit {
  public:
    explicit Hdf5SampleLimit(index_t bytes);
    ~Hdf5SampleLimit();
    Hdf5SampleLimit(const Hdf5SampleLimit&) = delete;
    Hdf5SampleLimit& operator=(const Hdf5SampleLimit&) = delete;
    /// Returns the bytes of samples that HDF5 has read since construction.
    index_t read() const;
};

/// Throws the error of an input file since the last call, if any. The caller holds Hdf5Lock.
void throw_failed_hdf5_read();

}  // namespace convolume::io
