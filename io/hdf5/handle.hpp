// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5's identifiers, closed when they go, and a lock on the library.

#include <hdf5.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "io/helper_process.hpp"

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

/// The innermost reason of the last failed call, in HDF5's words. Throws what kept an input file
/// from giving its bytes, if that was it (hdf5_driver.hpp), and OutOfMemory where memory is short.
std::string hdf5_reason();
/// That reason and the cure, as "REASON; CURE". The cure is `cure_of_damage`, unless the file seems
/// to need a newer HDF5.
std::string hdf5_failure(const std::string& cure_of_damage);
/// As hdf5_reason() for a file that is written: there, what HDF5 calls refused memory throws
/// OutOfMemory.
std::string hdf5_write_reason();

}  // namespace convolume::io
