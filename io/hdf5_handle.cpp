// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5_handle.hpp"

#include "io/hdf5_driver.hpp"

namespace convolume::io {
namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    // At exit the library would close once more what it failed to close, and crash.
    static const herr_t all_closed_here = H5dont_atexit();
    static_cast<void>(all_closed_here);
    return mutex;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex()) {
    if (H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_) < 0) print_ = nullptr;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() {
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::string hdf5_reason() {
    throw_failed_hdf5_read();
    std::string reason;
    const auto keep = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
        if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
        return 0;
    };
    // Downward: from the call to what made it fail, so that the last one stays.
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &reason);
    return reason.empty() ? "HDF5 gave no reason" : reason;
}

}  // namespace convolume::io
