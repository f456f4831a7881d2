// SPDX-License-Identifier: Apache-2.0
// Tests the text of plans, also of those that only GPUs can run.

#include "convolume/deconvolver.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

DeconvolvePlan plan_of_walks() {
    DeconvolvePlan plan;
    plan.by_walks = true;
    plan.engines = "gpu:0";
    plan.object = {288, 2174, 2174};
    plan.grid = {320, 1120, 2240};
    plan.array_bytes = index_t{6} << 30;
    plan.device_bytes = index_t{7} << 30;
    plan.host_bytes = index_t{12} << 30;
    plan.why_not_on_device = "it takes more";
    return plan;
}

}  // namespace

TEST_CASE("deconvolve: the text of a plan names walks, tiles and iterations fused into one walk") {
    DeconvolvePlan plan = plan_of_walks();
    CHECK(plan.to_string() ==
          "object      z,y,x 288×2174×2174, transforms of 320×1120×2240\n"
          "on          gpu:0, arrays of 6.00 GiB in host memory, each iteration a walk along z, "
          "7.00 GiB of each GPU\n"
          "host memory 12.0 GiB\n"
          "not in a GPU's memory, since it takes more\n");

    plan.views = 2;
    CHECK(plan.to_string().starts_with(
        "object      z,y,x 288×2174×2174 of 2 views, transforms of at most 320×1120×2240\n"));

    plan.views = 1;
    plan.tiles = 6;
    CHECK(plan.to_string().find("each iteration a walk along z through each of 6 tiles of the "
                                "planes, 7.00 GiB of each GPU\n") != std::string::npos);

    plan.tiles = 1;
    plan.iterations_a_walk = 3;
    CHECK(plan.to_string().find("host memory, up to 3 iterations a walk along z, 7.00") !=
          std::string::npos);
}

TEST_CASE(
    "deconvolve: the text of a plan says that arrays stay on the GPU, and names coarse images") {
    DeconvolvePlan plan = plan_of_walks();
    plan.by_walks = false;
    plan.on_device = true;
    plan.why_not_on_device.clear();
    plan.coarse_iterations = 20;
    plan.coarse_images = {{256, 512, 512}, {256, 1024, 1024}};
    CHECK(plan.to_string() ==
          "object      z,y,x 288×2174×2174, transforms of 320×1120×2240\n"
          "on          gpu:0, all arrays in GPU memory: 6.00 GiB of 7.00 GiB in all\n"
          "begins with 20 iterations on an image of 256×512×512, then 20 iterations on an image "
          "of 256×1024×1024\n"
          "host memory 12.0 GiB\n");

    plan.searched_part = Shape3{256, 683, 683};
    CHECK(
        plan.to_string().find("begins with at most 20 iterations on an image of 256×512×512, then "
                              "at most 20 iterations on") != std::string::npos);

    plan.coarse_images.clear();
    CHECK(plan.to_string().find("begins with no coarser image: image or PSF are too small for "
                                "one\n") != std::string::npos);
}
