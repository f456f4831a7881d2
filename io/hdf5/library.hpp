// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5 as it is used here: identifiers that are closed when they go, a lock on the library, its
// errors, and input files that it reads through RawFile. HDF5's own way takes what a file does not
// give for zeros.

#include <hdf5.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/helper_process.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// While it lives the thread has HDF5, which is not built for several threads everywhere, to
/// itself, and HDF5 prints no errors.
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

/// Does `work`, calls of HDF5 that read `path`, in a helper process, if damage is to be contained,
/// and says whether that was done (helper_process.hpp). Beside what that throws, throws BadData
/// where HDF5 was refused memory, even if it went on. The thread holds Hdf5Lock.
bool try_hdf5(const std::string& path, const HelperLimits& limits,
              const std::function<void()>& work);

class Hdf5Id {
  public:
    using Close = herr_t (*)(hid_t);

    Hdf5Id() = default;
    Hdf5Id(hid_t id, Close closer) : id_(id), close_(closer) {}
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
    /// Whether the library closed it without error.
    bool close() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

  private:
    hid_t id_ = H5I_INVALID_HID;
    Close close_ = nullptr;
};

/// A box of `count` elements along every dimension, from `start` on, in a dataset and in memory,
/// where it is contiguous.
struct Hdf5Box {
    Hdf5Box(hid_t dataset, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count);
    /// Whether HDF5 could select it.
    explicit operator bool() const { return selected; }

    Hdf5Id in_file;
    Hdf5Id in_memory;
    bool selected;
};

/// The innermost reason of the last failed call, in HDF5's words. Throws what kept an input file
/// from giving its bytes, if that was it, and OutOfMemory where memory is short.
std::string hdf5_reason();
/// That reason and the cure, as "REASON; CURE". The cure is `cure_of_damage`, unless the file seems
/// to need a newer HDF5.
std::string hdf5_failure(const std::string& cure_of_damage);
/// As hdf5_reason() for a file that is written: there, what HDF5 calls refused memory throws
/// OutOfMemory.
std::string hdf5_write_reason();

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
