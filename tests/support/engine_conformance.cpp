// SPDX-License-Identifier: Apache-2.0
#include "tests/support/engine_conformance.hpp"

#include <cmath>
#include <limits>
#include <thread>

#include "tests/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/conformance_cases.hpp"

namespace convolume::testing {
namespace {

Volume poisoned_target(const BlockCase& c) {
    Volume target(c.block.kept(), pixel_type(c.block.precision, c.block.complex_data));
    poison(target.view());
    return target;
}

std::shared_ptr<const EngineKernel> prepare(Engine& engine, const BlockCase& c) {
    // The taps need not outlive the call. Rows of a part's taps are padded.
    const Volume taps = c.taps_volume();
    if (c.block.algorithm != Algorithm::fft) return engine.prepare(c.block, taps.view());
    const Shape3 shape = taps.shape();
    Volume padded({shape.z, shape.y, round_up(shape.x, 16)}, taps.type());
    poison(padded.view());
    const ImageView view = subview(padded.view(), {{0, 0, 0}, shape});
    convert_pixels(taps.view(), view);
    return engine.prepare(c.block, view);
}

/// Describes the first defect of the engine's result for one case, or returns "".
std::string defect(Engine& engine, const BlockCase& c) {
    const Array want = c.expected();
    const Volume source = to_volume(c.source, c.source_type);
    const auto kernel = prepare(engine, c);
    for (int execution = 1; execution <= 2; ++execution) {
        Volume target = poisoned_target(c);
        engine.convolve(c.block, *kernel, c.input(source.view()), {target.view(), c.add}, 0, {});
        const auto comparison = compare(want, to_array(target.view()), c.norm_floor());
        if (!comparison.within(c.block.precision))
            return message("execution ", execution, ": ", comparison.report);
    }
    if (compare(c.source, to_array(source.view())).error != 0) return "the source was changed";
    return {};
}

template <class MakeCase>
void check_cases(Engine& engine, const char* name, std::uint64_t count, const MakeCase& make_case) {
    const std::uint64_t seed = test_seed(name);
    int failures = 0;
    for (std::uint64_t n = 0; n < count && failures < 5; ++n) {
        Random random(seed, n);
        const BlockCase c = make_case(random);
        std::string wrong;
        try {
            wrong = defect(engine, c);
        } catch (const std::exception& error) {
            wrong = message("threw: ", error.what());
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << n << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
    REQUIRE(failures == 0);
}

std::vector<Algorithm> algorithms_of(const Engine& engine) {
    std::vector<Algorithm> algorithms;
    for (const Algorithm algorithm : {Algorithm::fft, Algorithm::direct, Algorithm::separable})
        if (engine.supports(algorithm)) algorithms.push_back(algorithm);
    return algorithms;
}

}  // namespace

void check_engine_results(const EnginePointer& engine, std::uint64_t cases) {
    check_cases(*engine, "engine fft", cases, random_fft_case);
    check_cases(*engine, "engine parts", cases, random_part_case);
    for (const Algorithm algorithm : {Algorithm::direct, Algorithm::separable})
        if (engine->supports(algorithm))
            check_cases(
                *engine, algorithm == Algorithm::direct ? "engine direct" : "engine separable",
                cases, [&](Random& random) { return random_space_case(random, algorithm); });
}

void check_engine_pixel_types(const EnginePointer& engine) {
    Random random(test_seed("engine pixel types"));
    for (int s = 0; s < 8; ++s)
        for (int t = 0; t < 8; ++t) {
            const auto source_type = static_cast<PixelType>(s),
                       target_type = static_cast<PixelType>(t);
            BlockCase c = plain_case(random, {4, 6, 10}, {2, 3, 3}, Precision::float32);
            // Whole numbers: results are exact until the fraction of `add` is rounded.
            const bool negative = source_type != PixelType::uint8 &&
                                  source_type != PixelType::uint16 &&
                                  source_type != PixelType::uint32;
            c.source_type = source_type;
            c.source = random.integers(c.source.shape, negative ? -100 : 0, 100);
            c.taps = random.integers(c.taps.shape, -9, 9);
            c.add = 3.25;
            const Volume source = to_volume(c.source, source_type);
            Volume target(c.block.kept(), target_type);
            poison(target.view());
            const auto report =
                engine->convolve(c.block, *prepare(*engine, c), c.input(source.view()),
                                 {target.view(), c.add}, 0, {});
            Array want = c.expected();
            index_t low = 0, high = 0;
            visit_pixel_type(target_type, [&](auto tag) {
                using T = typename decltype(tag)::type;
                if constexpr (std::is_integral_v<T>)
                    for (Complex& value : want.values) {
                        const double rounded = std::floor(value.real() + 0.5);
                        const auto least = static_cast<double>(std::numeric_limits<T>::min());
                        const auto most = static_cast<double>(std::numeric_limits<T>::max());
                        low += rounded < least;
                        high += rounded > most;
                        value = std::min(std::max(rounded, least), most);
                    }
            });
            INFO(to_string(source_type) << " into " << to_string(target_type));
            const auto comparison = compare(want, to_array(target.view()));
            INFO(comparison.report);
            if (is_integer(target_type))
                CHECK(comparison.error == 0);
            else
                CHECK(comparison.within(Precision::float32));
            CHECK(report.clamped_low == low);
            CHECK(report.clamped_high == high);
        }

    BlockCase c = plain_case(random, {3, 4, 8}, {2, 2, 2}, Precision::float32);
    const double infinity = std::numeric_limits<double>::infinity();
    const BlockCase clean = [&] {
        BlockCase zeroed = c;
        for (const std::size_t i : {5u, 17u, 40u}) zeroed.source.values[i] = 0;
        return zeroed;
    }();
    c.source.values[5] = std::nan("");
    c.source.values[17] = infinity;
    c.source.values[40] = -infinity;
    const Volume source = to_volume(c.source, c.source_type);
    Volume target = poisoned_target(c);
    BlockInput input = c.input(source.view());
    input.nonfinite_to_zero = true;
    engine->convolve(c.block, *prepare(*engine, c), input, {target.view(), 0}, 0, {});
    const auto comparison = compare(clean.expected(), to_array(target.view()));
    INFO(comparison.report);
    CHECK(comparison.within(Precision::float32));
}

void check_engine_in_place(const EnginePointer& engine) {
    Random random(test_seed("engine in place"));
    for (int n = 0; n < 200; ++n) {
        // As in a split volume, the result replaces its own part. Planes and rows of the memory
        // have the longer of the two lengths.
        BlockCase c = random_part_case(random);
        Shape3 stored, rows;
        for (int a = 0; a < 3; ++a) {
            const BlockAxis& axis = c.block.axes[static_cast<std::size_t>(a)];
            rows[a] = a == 0 ? axis.loaded : random.integer(1, axis.loaded);
            stored[a] = std::max(rows[a], axis.kept);
            auto& gather = c.gather[static_cast<std::size_t>(a)];
            gather.resize(static_cast<std::size_t>(axis.loaded));
            // Rows and columns continue beyond the image, as with a boundary.
            for (index_t i = 0; i < axis.loaded; ++i)
                gather[static_cast<std::size_t>(i)] = i < rows[a] ? i
                                                      : random.chance(0.5)
                                                          ? -1
                                                          : 2 * rows[a] - 1 - i % rows[a] - rows[a];
        }
        c.source_type = pixel_type(c.block.precision, c.block.complex_data);
        c.source = random.array(rows, c.block.complex_data);
        const Array want = c.expected();
        Volume volume(stored, c.source_type);
        poison(volume.view());
        const ImageView source = subview(volume.view(), {{0, 0, 0}, rows});
        const ImageView target = subview(volume.view(), {{0, 0, 0}, c.block.kept()});
        store(c.source, source);
        engine->convolve(c.block, *prepare(*engine, c), c.input(source), {target, c.add}, 0, {});
        const auto comparison = compare(want, to_array(target), c.norm_floor());
        INFO("case " << n << ": " << c.describe() << "\n" << comparison.report);
        CHECK(comparison.within(c.block.precision));
    }
}

void check_engine_memory(const EnginePointer& engine, const std::function<MemoryUse()>& use,
                         const std::function<void()>& reset_peak) {
    Random random(test_seed("engine memory"));
    for (const Algorithm algorithm : algorithms_of(*engine))
        for (const Precision precision : {Precision::float32, Precision::float64})
            for (const Shape3& grid :
                 {Shape3{24, 60, 80}, Shape3{1, 256, 256}, Shape3{96, 32, 30}}) {
                BlockCase c =
                    plain_case(random, grid, {std::min<index_t>(3, grid.z), 3, 3}, precision);
                c.block.algorithm = algorithm;
                c.taps = Array(c.taps.shape);
                for (Complex& tap : c.taps.values) tap = 0.5;
                for (BlockAxis& axis : c.block.axes) {  // direct sums need grids without aliasing
                    axis.loaded = axis.grid - axis.kernel + 1;
                    axis.kept_begin = axis.kernel - 1;
                    axis.kept = axis.loaded - axis.kernel + 1;
                }
                for (int a = 0; a < 3; ++a)
                    c.gather[static_cast<std::size_t>(a)].resize(
                        static_cast<std::size_t>(c.block.axes[static_cast<std::size_t>(a)].loaded));
                if (element_count(c.block.kept()) < 1) continue;
                engine->release_workspaces();
                const Volume source = to_volume(c.source, c.source_type), taps = c.taps_volume();
                Volume target = poisoned_target(c);
                const BlockCost cost = engine->estimate(c.block);
                const index_t before = use().current_bytes;
                reset_peak();
                const auto kernel = engine->prepare(c.block, taps.view());
                engine->release_workspaces();
                INFO(c.describe());
                CHECK(use().current_bytes - before <= cost.kernel_bytes);
                engine->convolve(c.block, *kernel, c.input(source.view()), {target.view(), 0}, 0,
                                 {});
                engine->convolve(c.block, *kernel, c.input(source.view()), {target.view(), 0}, 0,
                                 {});
                CHECK(use().peak_bytes - before <= cost.kernel_bytes + cost.workspace_bytes);
                CHECK(cost.compute_s > 0);
                engine->release_workspaces();
                CHECK(use().current_bytes - before <= cost.kernel_bytes);
            }
    engine->release_workspaces();
}

void check_engine_concurrency(const EnginePointer& engine) {
    Random random(test_seed("engine concurrency"));
    for (const Algorithm algorithm : algorithms_of(*engine)) {
        BlockCase c = algorithm == Algorithm::fft
                          ? plain_case(random, {12, 20, 24}, {3, 5, 4}, Precision::float32)
                          : random_space_case(random, algorithm);
        const Array want = c.expected();
        const auto kernel = prepare(*engine, c);
        const Volume source = to_volume(c.source, c.source_type);
        std::vector<std::string> wrong(4);
        std::vector<std::thread> threads;
        for (std::string& result : wrong)
            threads.emplace_back([&] {
                for (int repeat = 0; repeat < 10 && result.empty(); ++repeat) {
                    Volume target = poisoned_target(c);
                    engine->convolve(c.block, *kernel, c.input(source.view()),
                                     {target.view(), c.add}, 0, {});
                    const auto comparison = compare(want, to_array(target.view()), c.norm_floor());
                    if (!comparison.within(c.block.precision)) result = comparison.report;
                }
            });
        for (auto& thread : threads) thread.join();
        INFO(c.describe());
        for (const std::string& result : wrong) CHECK(result == "");
    }
}

void check_engine_cancellation(const EnginePointer& engine) {
    Random random(test_seed("engine cancellation"));
    const BlockCase c = plain_case(random, {8, 16, 16}, {3, 3, 3}, Precision::float32);
    const Volume source = to_volume(c.source, c.source_type);
    Volume target = poisoned_target(c);
    std::stop_source stop;
    ExecutionContext context;
    context.stop = stop.get_token();
    stop.request_stop();
    CHECK_THROWS_AS(engine->convolve(c.block, *prepare(*engine, c), c.input(source.view()),
                                     {target.view(), 0}, 0, context),
                    Cancelled);
    CHECK(defect(*engine, c) == "");  // the engine still works
}

}  // namespace convolume::testing
