// SPDX-License-Identifier: Apache-2.0
// Tests memory limits of plans, and the advice in the message if no plan fits.

#include <sstream>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/volumes/plan_checks.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr index_t kib = 1024;

EngineList one_engine(bool is_gpu, index_t limit) {
    return {std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"engine", is_gpu, limit})};
}

/// Returns all sizes that a message names, such as "1.5 GiB".
std::vector<index_t> sizes_in(const std::string& text) {
    std::vector<index_t> sizes;
    std::istringstream words(text);
    std::string number, unit;
    words >> number;
    while (words >> unit) {
        try {
            sizes.push_back(parse_byte_size(number + unit.substr(0, unit.find_first_of(",.;:)"))));
        } catch (const InvalidArgument&) {
        }
        number = unit;
    }
    return sizes;
}

}  // namespace

TEST_CASE("the host limit bounds image, output, scratch and host engines") {
    const ConvolutionProblem problem = same_problem({64, 96, 96}, {7, 9, 9});
    const index_t image_and_output = 2 * 4 * element_count(problem.image);
    for (const bool is_gpu : {false, true})
        for (const index_t extra : {8 * mib, 4 * mib, 2 * mib, 1 * mib}) {
            Options options;
            options.max_host_bytes = image_and_output + extra;
            const EngineList engines = one_engine(is_gpu, 0);
            const TaskPlan plan = make_plan(problem, options, engines);
            INFO(plan.summary().to_string());
            CHECK(plan.host_limit_bytes == *options.max_host_bytes);
            CHECK(plan.chosen.host_bytes <= *options.max_host_bytes);
            CHECK(plan.chosen.host_bytes >= image_and_output);
            CHECK(broken_rule(plan, engines) == "");
        }
}

TEST_CASE("the host bytes depend on the pixel types") {
    ConvolutionProblem problem = same_problem({64, 96, 96}, {31, 33, 35});
    const EngineList engines = one_engine(true, 64 * mib);
    Options options;
    options.method = Method::in_core;
    const index_t floats = make_plan(problem, options, engines).chosen.host_bytes;
    problem.image_type = PixelType::uint8;
    problem.output_type = PixelType::float64;
    const index_t integer_bytes = make_plan(problem, options, engines).chosen.host_bytes;
    CHECK(integer_bytes - floats == (1 - 4 + 8 - 4) * element_count(problem.image));
}

TEST_CASE("when the host limit is too small the message names one that does") {
    const std::uint64_t seed = test_seed("host advice");
    for (std::uint64_t n = 0; n < 20; ++n) {
        Random random(seed, n);
        Shape3 image, kernel;
        for (int a = 0; a < 3; ++a) {
            image[a] = random.integer(20, 70);
            kernel[a] = random.integer(1, 30);
        }
        const ConvolutionProblem problem = same_problem(image, kernel);
        Options options;
        options.method = random.pick(
            {Method::automatic, Method::automatic, Method::in_core, Method::dif, Method::tiled});
        options.max_host_bytes = random.integer(1, 8 * element_count(image) - 1);
        const EngineList engines =
            one_engine(random.chance(0.5), random.pick<index_t>({0, 64 * mib}));
        const std::string text =
            message_of<OutOfMemory>([&] { make_plan(problem, options, engines); });
        INFO("case " << n << " image " << to_string(image) << " kernel " << to_string(kernel) << " "
                     << to_string(options.method) << " limit " << *options.max_host_bytes << ": "
                     << text);
        bool cured = false;
        for (const index_t size : sizes_in(text)) {
            if (size <= *options.max_host_bytes) continue;
            Options larger = options;
            larger.max_host_bytes = size;
            try {
                make_plan(problem, larger, engines);
                cured = true;
            } catch (const OutOfMemory&) {
            }
        }
        CHECK(cured);
    }
}

TEST_CASE("when the engines' limit is too small the message names one that does") {
    for (const Method method : {Method::automatic, Method::in_core, Method::dif, Method::tiled})
        for (const index_t limit : {index_t{16}, index_t{1000}, 20 * kib}) {
            const ConvolutionProblem problem = same_problem({25, 30, 35}, {11, 12, 13});
            Options options;
            options.method = method;
            std::string text;
            try {
                make_plan(problem, options, one_engine(true, limit));
                continue;
            } catch (const OutOfMemory& error) {
                text = error.what();
            }
            INFO(to_string(method) << " limit " << limit << ": " << text);
            bool cured = false;
            for (const index_t size : sizes_in(text)) {
                if (size <= limit) continue;
                try {
                    make_plan(problem, options, one_engine(true, size));
                    cured = true;
                } catch (const OutOfMemory&) {
                }
            }
            CHECK(cured);
        }
}

TEST_CASE("a limit just enough for one method is not refused") {
    const ConvolutionProblem problem = same_problem({40, 50, 60}, {11, 11, 11});
    for (const Method method : {Method::in_core, Method::dif, Method::tiled}) {
        Options options;
        options.method = method;
        if (method == Method::dif) options.parts = 4;
        const TaskPlan free_plan = make_plan(problem, options, one_engine(true, 0));
        const index_t needed = free_plan.chosen.engine_bytes;
        const TaskPlan plan = make_plan(problem, options, one_engine(true, needed));
        CHECK(plan.chosen.engine_bytes <= needed);
        options.max_host_bytes = free_plan.chosen.host_bytes;
        CHECK(make_plan(problem, options, one_engine(true, needed)).chosen.host_bytes <=
              free_plan.chosen.host_bytes);
    }
}
