// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "cli/convolve/planned_shape.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/image_request.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

TEST_CASE("parts and compressions are parsed") {
    CHECK(parse_parts("auto") == 0);
    CHECK(parse_parts("16") == 16);
    for (const char* text : {"", "3", "32", "-1", "1.0"})
        CHECK_THROWS_AS(parse_parts(text), InvalidArgument);
    CHECK(io::parse_compression("zstd") == io::Compression::zstd);
    CHECK_THROWS_AS(io::parse_compression("zip"), InvalidArgument);
}

TEST_CASE("output types are parsed and chosen") {
    using enum PixelType;
    CHECK(resolve_output_type("", uint16, uint8, Precision::float32) == float32);
    CHECK(resolve_output_type("", uint16, uint8, Precision::float64) == float64);
    CHECK(resolve_output_type("", uint16, complex64, Precision::float32) == complex64);
    CHECK(resolve_output_type("", complex64, uint8, Precision::float64) == complex128);
    CHECK(resolve_output_type("same", uint16, uint8, Precision::float32) == uint16);
    CHECK(resolve_output_type("int16", uint16, uint8, Precision::float32) == int16);
    CHECK_THROWS_AS(resolve_output_type("same", uint16, complex64, Precision::float32),
                    InvalidArgument);
}

TEST_CASE("the adjoint is planned for the image that convolve would take") {
    Options options;
    options.operation = Operation::adjoint;
    const Shape3 kernel{3, 4, 5};
    CHECK(planned_image_shape({10, 10, 10}, kernel, options) == Shape3{10, 10, 10});
    options.mode = Mode::full;
    CHECK(planned_image_shape({10, 10, 10}, kernel, options) == Shape3{8, 7, 6});
    CHECK_THROWS_AS(planned_image_shape({10, 10, 4}, kernel, options), InvalidArgument);
    options.mode = Mode::valid;
    CHECK(planned_image_shape({10, 10, 10}, kernel, options) == Shape3{12, 13, 14});
    options.operation = Operation::convolve;
    CHECK(planned_image_shape({10, 10, 10}, kernel, options) == Shape3{10, 10, 10});
}

TEST_CASE("the CPU replaces a device that fails if the choice was free") {
    std::ostringstream said;
    const Console console(said, Verbosity::quiet, false);
    using Device = EngineChoice::Device;
    std::vector<Device> tried;
    const auto run = [&](const ImageRequest& request) {
        tried.push_back(request.engines.device);
        if (request.engines.device != Device::cpu) throw DeviceFailure("the GPU fell off the bus");
    };
    ImageRequest request;
    run_with_fallback(console, request, run);
    CHECK(tried == std::vector{Device::automatic, Device::cpu});
    CHECK(said.str() ==
          "convolume: warning: starting again on the CPU, since the GPU fell off the bus\n");

    request.engines.device = Device::gpu;
    CHECK_THROWS_AS(run_with_fallback(console, request, run), DeviceFailure);
    CHECK(tried.size() == 3);
}

TEST_CASE("other failures are not tried again") {
    std::ostringstream said;
    const Console console(said, Verbosity::quiet, false);
    int runs = 0;
    const auto run = [&](const ImageRequest&) {
        ++runs;
        throw Unavailable("this format is not built in");
    };
    CHECK_THROWS_AS(run_with_fallback(console, ImageRequest(), run), Unavailable);
    CHECK(runs == 1);
    CHECK(said.str().empty());
}

TEST_CASE("the line about the plan says what GPUs do") {
    Plan plan;
    plan.chosen.method = Method::tiled;
    plan.chosen.tiles = {1, 2, 2};
    plan.chosen.slab_planes = 96;
    plan.chosen.tasks_in_flight = 2;
    plan.chosen.on_gpu = true;
    plan.chosen.engine_bytes = index_t{3} << 30;
    plan.engines = {"gpu:0", "gpu:1"};
    const std::string line = plan_line(plan);
    for (const char* words : {"1×2×2 tiles, slabs of 96 planes, 2 in flight, ",
                              " on gpu:0 gpu:1, 3.00 GiB of each GPU, "}) {
        INFO(line);
        CHECK(line.find(words) != std::string::npos);
    }
    plan.chosen = {};
    plan.chosen.on_gpu = true;
    plan.chosen.gpus_per_block = 2;
    CHECK(plan_line(plan).find("in-core, spread over 2 GPUs, grid") == 0);
}
