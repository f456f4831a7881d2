// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/architectures.hpp"
#include "tests/catch.hpp"

using namespace convolume::gpu;

TEST_CASE("machine code runs on devices of its major number, virtual code on all later ones") {
    const char* const of_packages = "75-virtual,80-virtual,90-real";
    CHECK(has_code_for(of_packages, 7, 5));
    CHECK(has_code_for(of_packages, 8, 9));
    CHECK(has_code_for(of_packages, 9, 0));
    CHECK(has_code_for(of_packages, 12, 1));
    CHECK_FALSE(has_code_for(of_packages, 7, 0));

    CHECK(has_code_for("86-real", 8, 6));
    CHECK(has_code_for("86-real", 8, 9));
    CHECK_FALSE(has_code_for("86-real", 8, 0));
    CHECK_FALSE(has_code_for("86-real", 9, 0));
    CHECK(has_code_for("100-real,120-real", 12, 1));
    CHECK_FALSE(has_code_for("100-real,120-real", 11, 0));

    CHECK(has_code_for("80-real,90", 9, 0));
    CHECK(has_code_for("80-real,90", 10, 0));
    CHECK_FALSE(has_code_for("90", 8, 9));
}

TEST_CASE("code for one architecture or family does not run on others") {
    CHECK(has_code_for("90a", 9, 0));
    CHECK(has_code_for("90a-virtual", 9, 0));
    CHECK_FALSE(has_code_for("90a", 10, 0));
    CHECK(has_code_for("100f-real", 10, 3));
    CHECK_FALSE(has_code_for("100f", 12, 0));
    CHECK_FALSE(has_code_for("", 9, 0));
    CHECK_FALSE(has_code_for("native", 9, 0));
}

TEST_CASE("a device that is older or newer than the build gets a sentence") {
    CHECK(why_unusable("GPU 0", "75-virtual,80-virtual,90-real", 8, 6).empty());
    CHECK(why_unusable("GPU 0", "75-virtual", 6, 1) ==
          "GPU 0 has compute capability 6.1 and is too old: convolume needs 7.5 or later");
    CHECK(why_unusable("GPU 1", "90-real", 10, 0) ==
          "GPU 1 has compute capability 10.0, and this build has code only for 90-real: add 100 to "
          "CMAKE_CUDA_ARCHITECTURES and build again, or use the CPU");
    CHECK(why_unusable("GPU 1", "90-real", 8, 0).find("add 80 to") != std::string::npos);
}
