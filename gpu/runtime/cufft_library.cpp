// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cufft_library.hpp"

#include <dlfcn.h>

#include <string>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {

// cuFFT's version that this was compiled against: others have other interfaces.
std::string file_name() {
    return message("libcufft.so.", CUFFT_VER_MAJOR);
}

// Where the system looks for libraries; else in the toolkit that this was built with.
void* open_library() {
    for (const std::string& path :
         {file_name(), message(CONVOLUME_CUDA_LIBRARY_FOLDER, "/", file_name())})
        if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    throw Unavailable(message("grids of these lengths take cuFFT, and ", file_name(),
                              " was not found: install it with the CUDA toolkit, name its folder "
                              "in LD_LIBRARY_PATH, or use the CPU"));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
        throw Unavailable(message(file_name(), " has no function ", name,
                                  ": install the cuFFT of the CUDA toolkit, or use the CPU "
                                  "(--device cpu)"));
}

CufftLibrary load() {
    void* const library = open_library();
    CufftLibrary functions{};
    find(library, "cufftCreate", functions.create);
    find(library, "cufftDestroy", functions.destroy);
    find(library, "cufftSetAutoAllocation", functions.set_auto_allocation);
    find(library, "cufftMakePlanMany64", functions.make_plan_many);
    find(library, "cufftSetStream", functions.set_stream);
    find(library, "cufftSetWorkArea", functions.set_work_area);
    find(library, "cufftXtExec", functions.execute);
    return functions;
}

}  // namespace

const CufftLibrary& cufft_library() {
    static const CufftLibrary functions = load();
    return functions;
}

void check(cufftResult status, const char* what) {
    switch (status) {
        case CUFFT_SUCCESS:
            return;
        case CUFFT_ALLOC_FAILED:
            throw OutOfMemory(message("the GPU has no memory left for ", what,
                                      ": close other programs on it, or lower its memory limit"));
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
