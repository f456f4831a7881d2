// SPDX-License-Identifier: Apache-2.0
// Tests convolution of images in the memory of several GPUs. A device that is named several times
// stands for several GPUs, so that most of the work is also tested with one.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/volumes/spread_tuning.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/gpu/slabs.hpp"
#include "tests/support/convolver_case.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Returns a random division, often with slabs of no planes.
std::vector<index_t> random_division(Random& random, index_t planes, std::size_t slabs) {
    std::vector<index_t> ends;
    for (std::size_t i = 1; i < slabs; ++i) ends.push_back(random.integer(0, planes));
    ends.push_back(planes);
    std::sort(ends.begin(), ends.end());
    std::vector<index_t> division;
    for (const index_t end : ends) {
        index_t before = 0;
        for (const index_t own : division) before += own;
        division.push_back(end - before);
    }
    return division;
}

bool has_equal_slabs(const DeviceConvolver& convolver, index_t input_plane, index_t output_plane) {
    const auto& slabs = convolver.slabs();
    return std::all_of(slabs.begin(), slabs.end(), [&](const DeviceSlab& slab) {
        return slab.input_planes * input_plane == slab.output_planes * output_plane;
    });
}

std::string name_of(const std::optional<gpu::SpreadMethod>& method) {
    return !method                               ? "method chosen"
           : *method == gpu::SpreadMethod::halos ? "with halos"
                                                 : "by columns";
}

/// Returns a tuning that divides small images, too.
gpu::SpreadTuning random_tuning(Random& random) {
    gpu::SpreadTuning tuning;
    tuning.method = random.pick<std::optional<gpu::SpreadMethod>>(
        {std::nullopt, gpu::SpreadMethod::halos, gpu::SpreadMethod::columns});
    if (random.chance(0.8)) tuning.halo_chunks = random.pick({1, 2, 3, 5});
    tuning.reaches_peers = random.chance(0.9);
    tuning.chunks = random.pick({1, 2, 3, 5});
    tuning.z_share = random.pick({0.1, 0.5, 1.0});
    tuning.y_share = random.pick({0.1, 0.5, 1.0});
    tuning.least_chunk_bytes = 0;
    return tuning;
}

struct SpreadOptions {
    std::vector<int> devices;
    bool divides_at_random = false;
    bool keeps_spectrum = true;
    bool in_place = false;
    bool kernel_on_device = false;
    bool has_streams = true;
};

// Executes twice into poisoned slabs. Returns a description of the first defect, or "".
std::string spread_defect(const ConvolverCase& c, const SpreadOptions& how, Random& random) {
    const Volume image = to_volume(c.image, c.image_type),
                 kernel = to_volume(c.kernel, c.kernel_type());
    const Array expected = c.expected();
    DeviceOptions device;
    device.devices = how.devices;
    device.image_type = c.image_type;
    device.keep_kernel_spectrum = how.keeps_spectrum;
    device.kernel_on_device = how.kernel_on_device;
    if (how.divides_at_random) {
        device.input_planes = random_division(random, c.image.shape.z, how.devices.size());
        device.output_planes = random_division(random, expected.shape.z, how.devices.size());
    }
    ConstImageView given = kernel.view();
    if (how.kernel_on_device) given.data = nullptr;
    const DeviceConvolver convolver(c.image_shape, given, c.options, device);
    const gpu::DeviceScope scope(how.devices[0]);
    const gpu::DeviceMemory taps(how.devices[0], kernel.bytes());
    copy_to_device(taps.data(), kernel.view().data, kernel.bytes());
    Volume result(convolver.output_shape(), convolver.output_type());
    VolumeSlabs input = input_slabs(convolver, image), output = output_slabs(convolver, result);
    const bool in_place =
        how.in_place && has_equal_slabs(convolver, image.bytes() / image.shape().z,
                                        result.bytes() / result.shape().z);
    const VolumeSlabs& target = in_place ? input : output;
    const SlabStreams streams(convolver);
    const std::vector<DeviceStream> no_streams;
    for (int execution = 1; execution <= 2; ++execution) {
        input.fill(image);
        poison(result.view());
        output.fill(result);
        const auto& chosen = how.has_streams ? streams.get() : no_streams;
        if (how.kernel_on_device)
            convolver.execute_with_kernel(input.inputs(), taps.data(), target.outputs(), chosen);
        else
            convolver.execute(input.inputs(), target.outputs(), chosen);
        target.fetch(result);
        const auto comparison =
            compare(expected, to_array(result.view()), c.norm_floor(element_count(result.shape())));
        if (!comparison.within(c.options.precision))
            return message("execution ", execution, ": ", comparison.report);
        if (!input.guards_are_intact() || !output.guards_are_intact())
            return "memory beside a slab was written to";
    }
    return {};
}

bool may_stay_on_device(const ConvolverCase& c) {
    const Options& options = c.options;
    return (options.boundary.kind != BoundaryKind::constant || options.boundary.value == 0) &&
           (!is_complex(c.kernel_type()) || options.operation == Operation::convolve);
}

/// Whether results may be folded, or one result may depend on all planes.
bool may_need_peers(const ConvolverCase& c) {
    return c.options.operation == Operation::adjoint || c.kernel.shape.z > 1;
}

void check_sweep(const char* name, const std::vector<std::vector<int>>& devices,
                 std::uint64_t cases) {
    const std::uint64_t seed = test_seed(name);
    int failures = 0;
    for (std::uint64_t number = 0; number < case_count(cases) && failures < 5; ++number) {
        ConvolverCase c = random_convolver_case(seed, number, 1e5);
        c.options.nan = NanPolicy::error;
        Random random(seed, 100000 + number);
        SpreadOptions how;
        how.devices = devices[number % devices.size()];
        how.divides_at_random = random.chance(0.7);
        how.keeps_spectrum = random.chance(0.6);
        how.in_place = random.chance(0.5);
        how.kernel_on_device = may_stay_on_device(c) && random.chance(0.4);
        how.has_streams = random.chance(0.7);
        const gpu::SpreadTuning tuning = random_tuning(random);
        const TuningScope scope(tuning);
        std::string wrong;
        try {
            wrong = spread_defect(c, how, random);
        } catch (const GpuUnavailable& thrown) {
            if (tuning.reaches_peers || !may_need_peers(c)) wrong = thrown.what();
        } catch (const std::exception& thrown) {
            wrong = thrown.what();
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << number << " on " << how.devices.size() << " slabs, "
                              << (how.divides_at_random ? "divided at random" : "divided evenly")
                              << (how.keeps_spectrum ? ", spectrum kept" : "")
                              << (how.in_place ? ", in place" : "")
                              << (how.kernel_on_device ? ", kernel on device" : "") << ", "
                              << name_of(tuning.method) << ", " << tuning.chunks << " and "
                              << tuning.halo_chunks.value_or(0) << " chunks: " << c.describe()
                              << "\n"
                              << wrong);
        CHECK(wrong.empty());
    }
}

/// Compares with one GPU for images whose spectra take many pages.
void check_against_one_gpu(const std::vector<int>& devices, std::uint64_t cases) {
    const std::uint64_t seed = test_seed("spread over GPUs, and one GPU");
    for (std::uint64_t number = 0; number < case_count(cases); ++number) {
        Random random(seed, number);
        const Shape3 shape{random.integer(20, 150), random.integer(60, 260),
                           random.integer(60, 300)};
        const Shape3 kernel_shape{random.integer(1, 20), random.integer(1, 30),
                                  random.integer(1, 30)};
        Options options;
        options.mode = static_cast<Mode>(number % 3);
        options.boundary.kind = random.pick(
            {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap, BoundaryKind::nearest});
        options.operation = random.pick({Operation::convolve, Operation::adjoint});
        const Volume kernel = to_volume(random.array(kernel_shape, false), PixelType::float32);
        DeviceOptions device;
        device.keep_kernel_spectrum = random.chance(0.7);
        const DeviceConvolver one(shape, kernel.view(), options, device);
        const Volume image = to_volume(random.array(one.input_shape(), false), PixelType::float32);
        const gpu::DeviceMemory input = on_device(image);
        const gpu::DeviceMemory output(0, bytes_of(one.output_shape(), PixelType::float32));
        one.execute(input.data(), output.data());
        const Array want = to_array(fetched(output, one.output_shape(), PixelType::float32).view());

        device.devices = devices;
        if (random.chance(0.5)) {
            device.input_planes = random_division(random, one.input_shape().z, devices.size());
            device.output_planes = random_division(random, one.output_shape().z, devices.size());
        }
        gpu::SpreadTuning tuning = random_tuning(random);
        tuning.reaches_peers = true;
        const TuningScope scope(tuning);
        const DeviceConvolver several(shape, kernel.view(), options, device);
        Volume result(several.output_shape(), several.output_type());
        const VolumeSlabs inputs = input_slabs(several, image);
        for (int execution = 0; execution < 2; ++execution) {
            poison(result.view());
            const VolumeSlabs outputs = output_slabs(several, result);
            several.execute(inputs.inputs(), outputs.outputs());
            outputs.fetch(result);
            INFO("case " << number << ", " << to_string(shape) << " * " << to_string(kernel_shape)
                         << " " << to_string(options.mode) << " "
                         << to_string(options.boundary.kind) << " "
                         << to_string(options.operation));
            const Comparison comparison = compare(want, to_array(result.view()));
            INFO(comparison.report);
            CHECK(comparison.error < 1e-6);
            CHECK(outputs.guards_are_intact());
        }
    }
}

/// Checks that results have the same bits with every tuning.
void check_tunings(const std::vector<int>& devices) {
    const Shape3 shape{40, 130, 200};
    const Volume kernel = random_image({9, 11, 13}, 1), image = random_image(shape, 2);
    Options options;
    options.boundary.kind = BoundaryKind::reflect;
    for (const auto method : {gpu::SpreadMethod::halos, gpu::SpreadMethod::columns})
        for (const bool keep : {true, false}) {
            DeviceOptions device;
            device.devices = devices;
            device.keep_kernel_spectrum = keep;
            Volume want(shape, PixelType::float32), got(shape, PixelType::float32);
            for (const int chunks : {1, 4, 7}) {
                gpu::SpreadTuning tuning;
                tuning.method = method;
                tuning.halo_chunks = tuning.chunks = chunks;
                tuning.least_chunk_bytes = 0;
                if (chunks == 1) tuning.z_share = 1;
                if (chunks == 7) tuning.y_share = 1;
                const TuningScope scope(tuning);
                const DeviceConvolver convolver(shape, kernel.view(), options, device);
                Volume& result = chunks == 1 ? want : got;
                poison(result.view());
                const VolumeSlabs input = input_slabs(convolver, image),
                                  output = output_slabs(convolver, result);
                convolver.execute(input.inputs(), output.outputs());
                output.fetch(result);
                INFO(chunks << " chunks" << (keep ? ", spectrum kept" : ""));
                if (chunks > 1) CHECK(same(to_array(want.view()), to_array(got.view())));
            }
        }
}

/// Executes with different images from several threads, each with its own CUDA streams.
void check_threads(const std::vector<int>& devices) {
    constexpr std::size_t threads = 3;
    constexpr int repeats = 8;
    const Shape3 shape{40, 96, 100};
    DeviceOptions device;
    device.devices = devices;
    Options options;
    options.boundary.kind = BoundaryKind::mirror;
    options.operation = Operation::adjoint;
    const Volume kernel = random_image({9, 11, 13}, 1);
    const DeviceConvolver convolver(shape, kernel.view(), options, device);
    std::array<std::string, threads> errors;
    const auto run = [&](std::size_t thread) {
        const Volume image = random_image(shape, 10 + thread);
        Volume want(shape, PixelType::float32), got(shape, PixelType::float32);
        const SlabStreams streams(convolver);
        const VolumeSlabs input = input_slabs(convolver, image);
        for (int n = 0; n < repeats; ++n) {
            Volume& result = n == 0 ? want : got;
            poison(result.view());
            const VolumeSlabs output = output_slabs(convolver, result);
            convolver.execute(input.inputs(), output.outputs(), streams.get());
            output.fetch(result);
            if (n > 0 && !same(to_array(want.view()), to_array(got.view())))
                errors[thread] = "results of equal executions differ";
        }
    };
    {
        std::vector<std::jthread> running;
        for (std::size_t t = 0; t < threads; ++t)
            running.emplace_back([&, t] {
                try {
                    run(t);
                } catch (const std::exception& error) {
                    errors[t] = error.what();
                }
            });
    }
    for (const std::string& error : errors) CHECK(error.empty());
}

/// Checks that slabs enqueue after earlier work on each stream, and before later work.
void check_order(const std::vector<int>& devices) {
    const Shape3 shape{64, 200, 200};
    DeviceOptions device;
    device.devices = devices;
    const Volume kernel = random_image({7, 7, 7}, 1), image = random_image(shape, 2);
    const DeviceConvolver convolver(shape, kernel.view(), {}, device);
    Volume want(shape, PixelType::float32), got(shape, PixelType::float32);
    const VolumeSlabs source = input_slabs(convolver, image);
    const VolumeSlabs reference = output_slabs(convolver, want);
    convolver.execute(source.inputs(), reference.outputs());
    reference.fetch(want);
    poison(got.view());
    const VolumeSlabs input = input_slabs(convolver, got), output = output_slabs(convolver, got),
                      copy = output_slabs(convolver, got);
    const SlabStreams streams(convolver);
    const auto copy_slabs = [&](const VolumeSlabs& from, const VolumeSlabs& to) {
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const DeviceSlab& slab = convolver.slabs()[i];
            const gpu::DeviceScope scope(slab.device);
            const auto bytes = static_cast<std::size_t>(slab.input_planes * shape.y * shape.x * 4);
            gpu::check(cudaMemcpyAsync(to.data(i), from.data(i), bytes, cudaMemcpyDeviceToDevice,
                                       streams.get()[i].get()),
                       "copying a slab");
        }
    };
    for (int repeat = 0; repeat < 5; ++repeat) copy_slabs(source, input);
    convolver.execute(input.inputs(), output.outputs(), streams.get());
    copy_slabs(output, copy);
    // Later work on each stream may overwrite the images.
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const DeviceSlab& slab = convolver.slabs()[i];
        const gpu::DeviceScope scope(slab.device);
        const auto bytes = static_cast<std::size_t>(slab.input_planes * shape.y * shape.x * 4);
        gpu::check(cudaMemsetAsync(input.data(i), 0xFF, bytes, streams.get()[i].get()),
                   "overwriting a slab");
        gpu::check(cudaMemsetAsync(output.data(i), 0xFF, bytes, streams.get()[i].get()),
                   "overwriting a slab");
    }
    copy.fetch(got);
    CHECK(same(to_array(want.view()), to_array(got.view())));
}

}  // namespace

TEST_CASE("spread convolver on one GPU: slabs agree with the oracle", "[gpu]") {
    NEEDS_GPU();
    check_sweep("sweep over slabs of one GPU", {{0, 0}, {0, 0, 0}}, 400);
}

TEST_CASE("spread convolver: every operation, mode and boundary agrees with the oracle", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_sweep("sweep over two GPUs", {{0, 1}, {1, 0}, {0, 1, 0}}, 400);
}

TEST_CASE("spread convolver on one GPU: results equal those of one slab", "[gpu]") {
    NEEDS_GPU();
    check_against_one_gpu({0, 0}, 12);
}

TEST_CASE("spread convolver: results equal those of one GPU", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_against_one_gpu({0, 1}, 24);
}

TEST_CASE("spread convolver on one GPU: results have the same bits with every tuning", "[gpu]") {
    NEEDS_GPU();
    check_tunings({0, 0});
}

TEST_CASE("spread convolver: results have the same bits with every tuning", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_tunings({0, 1});
    check_tunings({0, 1, 0});
}

TEST_CASE("spread convolver on one GPU: executions of several threads do not disturb each other",
          "[gpu]") {
    NEEDS_GPU();
    check_threads({0, 0});
    check_order({0, 0});
}

TEST_CASE("spread convolver: executions of several threads do not disturb each other", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_threads({0, 1});
    check_order({0, 1});
    check_order({1, 0});
}

TEST_CASE("spread convolver on one GPU: slabs with halos may divide more planes than a pass takes",
          "[gpu]") {
    NEEDS_GPU();
    const Shape3 shape{6000, 12, 16};
    const Volume kernel = random_image({7, 5, 3}, 1), image = random_image(shape, 2);
    DeviceOptions options;
    const DeviceConvolver one(shape, kernel.view());
    const gpu::DeviceMemory input = on_device(image), output(0, image.bytes());
    one.execute(input.data(), output.data());
    const Array want = to_array(fetched(output, shape, PixelType::float32).view());
    options.devices = {0, 0, 0};
    const DeviceConvolver several(shape, kernel.view(), {}, options);
    Volume result(shape, PixelType::float32);
    const VolumeSlabs inputs = input_slabs(several, image), outputs = output_slabs(several, result);
    several.execute(inputs.inputs(), outputs.outputs());
    outputs.fetch(result);
    CHECK(compare(want, to_array(result.view())).error < 1e-6);
}
