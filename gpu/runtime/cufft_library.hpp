// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuFFT, a library of hundreds of megabytes that few convolutions need: opened when it is first
// used.

#include <cufftXt.h>

#include <filesystem>
#include <string>
#include <vector>

namespace convolume::gpu {

/// The functions of cuFFT that are used, without their prefix.
struct CufftLibrary {
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetAutoAllocation) set_auto_allocation;
    decltype(&cufftMakePlanMany64) make_plan_many;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftSetWorkArea) set_work_area;
    decltype(&cufftXtExec) execute;
};

/// Names that it is tried by, in turn: where the system looks; NVIDIA's packages in the Python
/// environment that has the file `library` in a package; the toolkit that this was built with.
std::vector<std::string> cufft_files(const std::filesystem::path& library);

/// Throws Unavailable where the library is missing. Stays open until the process ends.
const CufftLibrary& cufft_library();

/// Throws OutOfMemory (the device has no room), DeviceFailure (it is lost or out of order) or
/// InternalError; `what` says what was tried, e.g. "a cuFFT plan".
void check(cufftResult status, const char* what);

}  // namespace convolume::gpu
