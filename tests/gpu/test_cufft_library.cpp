// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cufft_library.hpp"
#include "tests/catch.hpp"

using namespace convolume::gpu;

TEST_CASE("cuFFT is also searched for in NVIDIA's packages for Python") {
    const std::string file = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR);
    const auto files = cufft_files("/env/site-packages/convolume.libs/libconvolume-1234.so.0.1");
    REQUIRE(files.size() == 4);
    CHECK(files[0] == file);
    // Folders of cuFFT in NVIDIA's wheels, for later versions and for CUDA 12.
    CHECK(files[1].rfind("/env/site-packages/nvidia/cu", 0) == 0);
    CHECK(files[2] == "/env/site-packages/nvidia/cufft/lib/" + file);
    CHECK(files[3].find(file) != std::string::npos);
    CHECK(cufft_files("").size() == 2);
}
