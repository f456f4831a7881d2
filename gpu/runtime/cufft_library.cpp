// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cufft_library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <filesystem>

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

using namespace std::string_literals;

namespace {

// Returns the name of cuFFT's file, with the version that this was compiled for: other versions
// have other interfaces.
std::string cufft_file_name() {
    return message("libcufft.so.", CUFFT_VER_MAJOR);
}

// Returns the file that contains this code; empty if the system does not know.
std::filesystem::path file_of_this_library() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&cufft_library), &info) == 0) return {};
    return info.dli_fname;
}

void* open_library() {
    for (const std::string& path : cufft_files(file_of_this_library()))
        if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    throw GpuUnavailable(message("grids of these lengths take cuFFT, and ", cufft_file_name(),
                                 " was not found: install it with the CUDA toolkit, or beside the "
                                 "Python package by pip install ",
                                 CUDART_VERSION / 1000 < 13 ? "nvidia-cufft-cu12" : "nvidia-cufft",
                                 ", name its folder in LD_LIBRARY_PATH, or use the CPU"));
}

template <class Function>
void find_function(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
        throw GpuUnavailable(message(cufft_file_name(), " has no function ", name,
                                     ": install the cuFFT of the CUDA toolkit, or use the CPU"));
}

CufftLibrary load_functions() {
    void* const library = open_library();
    CufftLibrary functions{};
    find_function(library, "cufftCreate", functions.create);
    find_function(library, "cufftDestroy", functions.destroy);
    find_function(library, "cufftSetAutoAllocation", functions.set_auto_allocation);
    find_function(library, "cufftMakePlanMany64", functions.make_plan_many);
    find_function(library, "cufftSetStream", functions.set_stream);
    find_function(library, "cufftSetWorkArea", functions.set_work_area);
    find_function(library, "cufftXtExec", functions.execute);
    return functions;
}

}  // namespace

std::vector<std::string> cufft_files(const std::filesystem::path& library) {
    std::vector<std::string> files{cufft_file_name()};
    // In a Python environment, the packages of convolume and NVIDIA are in one folder.
    const std::filesystem::path packages = library.parent_path().parent_path();
    if (!packages.empty())
        for (const std::string& folder : {message("cu", CUDART_VERSION / 1000), "cufft"s})
            files.push_back(packages / "nvidia" / folder / "lib" / cufft_file_name());
    files.push_back(message(CONVOLUME_CUDA_LIBRARY_FOLDER, "/", cufft_file_name()));
    return files;
}

const CufftLibrary& cufft_library() {
    static const CufftLibrary functions = load_functions();
    return functions;
}

void check(cufftResult status, const char* what) {
    switch (status) {
        case CUFFT_SUCCESS:
            return;
        case CUFFT_ALLOC_FAILED:
            return check(cudaErrorMemoryAllocation, what);
        case CUFFT_EXEC_FAILED:
        case CUFFT_SETUP_FAILED:
        case CUFFT_INTERNAL_ERROR:
            throw DeviceFailure(message("the GPU failed while ", what, ": cuFFT status ",
                                        static_cast<int>(status), "; run again, or use the CPU"));
        default:
            throw InternalError(
                message("cuFFT refused ", what, " with status ", static_cast<int>(status)));
    }
}

}  // namespace convolume::gpu
