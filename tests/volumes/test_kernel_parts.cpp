// SPDX-License-Identifier: Apache-2.0
// Compares the parts of kernels with the definition of a split, in memory and in scratch files.

#include <cstring>

#include "convolume/convolver.hpp"
#include "tests/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/dif_reference.hpp"
#include "tests/support/random.hpp"
#include "volumes/kernel_parts.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("parts of a kernel are those of the padded kernel", "[parts][long]") {
    Random random(test_seed("kernel parts"));
    for (int trial = 0; trial < 60; ++trial) {
        TaskPlan plan;
        const int parts = random.pick({2, 4, 8, 16});
        const index_t grid = 2 * parts * random.integer(1, 4);
        ConvolutionProblem& problem = plan.problem;
        problem.complex_data = random.chance(0.5);
        problem.precision = random.pick({Precision::float32, Precision::float64});
        problem.kernel = {random.integer(1, grid), random.integer(1, 4), random.integer(1, 40)};
        problem.image = {grid, 5, 6};
        for (int a = 0; a < 3; ++a)
            problem.output.end[a] = problem.image[a] + problem.kernel[a] - 1;
        plan.chosen.parts = parts;
        plan.chosen.kernel_in_files = random.chance(0.5);
        plan.scratch.z = grid;
        INFO(parts << " parts of " << grid << " planes, kernel " << to_string(problem.kernel)
                   << (problem.complex_data ? ", complex" : ", real")
                   << (plan.chosen.kernel_in_files ? ", in files" : ""));
        const Array taps = random.array(problem.kernel, problem.complex_data);
        const auto kernel = std::make_shared<const Volume>(
            to_volume(taps, pixel_type(problem.precision, problem.complex_data)));
        KernelParts split(plan, kernel, 2, "");
        const std::vector<Array> wholes = dif_parts(taps, grid, parts, problem.complex_data);
        for (int p = parts - 1; p >= 0; --p) {
            const Array& whole = wholes[static_cast<std::size_t>(p)];
            const KernelParts::PartTaps part = split.part(p, {});
            REQUIRE(is_complex(part.view.type) == (problem.complex_data || p > 0));
            const Shape3 shape{std::min(problem.kernel.z, whole.shape.z), problem.kernel.y,
                               problem.kernel.x};
            REQUIRE(part.view.shape == shape);
            Array want(shape);  // the other planes of the part are zero
            for (index_t z = 0; z < whole.shape.z; ++z)
                for (index_t y = 0; y < shape.y; ++y)
                    for (index_t x = 0; x < shape.x; ++x)
                        if (z < shape.z)
                            want(z, y, x) = whole(z, y, x);
                        else
                            REQUIRE(std::abs(whole(z, y, x)) < 1e-12);
            const auto comparison = compare(want, to_array(part.view), norm(taps));
            INFO("part " << p << "\n" << comparison.report);
            CHECK(comparison.within(problem.precision));
            if (random.chance(0.2)) split.release();  // parts are made again
        }
    }
}

TEST_CASE("a kernel in a file gives the bytes that one in memory gives", "[parts]") {
    Random random(test_seed("kernels in files"));
    for (int trial = 0; trial < 40; ++trial) {
        const Shape3 image{random.integer(2, 9), random.integer(1, 12), random.integer(1, 12)};
        const Shape3 shape{random.integer(1, 12), random.integer(1, 12), random.integer(1, 12)};
        const PixelType type = random.pick({PixelType::float32, PixelType::float64});
        Options options;
        options.operation =
            random.pick({Operation::convolve, Operation::correlate, Operation::adjoint});
        options.normalization = random.pick(
            {KernelNormalization::none, KernelNormalization::sum, KernelNormalization::peak});
        options.center.kind = random.pick({KernelCenter::Kind::middle, KernelCenter::Kind::corner});
        options.precision = random.pick({Precision::float32, Precision::float64});
        options.method = random.pick({Method::dif, Method::automatic});
        if (options.method == Method::dif) options.parts = random.pick({2, 4});
        INFO("image " << to_string(image) << ", kernel " << to_string(shape) << ", "
                      << to_string(options.operation) << ", " << to_string(options.normalization));
        Volume kernel = to_volume(random.array(shape, false, 1), type);
        Volume in_file = Volume::in_file(shape, type, "");
        std::memcpy(in_file.view().data, kernel.view().data,
                    static_cast<std::size_t>(kernel.bytes()));
        const Volume input = to_volume(random.array(image, false, 1), PixelType::float32);
        EngineChoice cpu;
        cpu.device = EngineChoice::Device::cpu;
        const auto convolved = [&](Volume taps) {
            const Convolver convolver(image, std::move(taps), options, cpu);
            Volume output(convolver.output_shape(), PixelType::float32);
            convolver.execute(input.view(), output.view());
            return output;
        };
        const Volume want = convolved(std::move(kernel)), got = convolved(std::move(in_file));
        CHECK(std::memcmp(want.view().data, got.view().data,
                          static_cast<std::size_t>(want.bytes())) == 0);
    }
}
