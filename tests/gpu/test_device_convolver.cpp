// SPDX-License-Identifier: Apache-2.0
// Tests convolution from device memory to device memory, on a CUDA stream of the caller.

#include <cuda_runtime_api.h>

#include <optional>

#include "convolume/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/short_samples.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Whether a kernel may come with each execution, in device memory.
bool may_stay_on_device(const ConvolverCase& c) {
    const Options& options = c.options;
    using Kind = KernelCenter::Kind;
    const Kind center = options.center.kind;
    return options.normalization == KernelNormalization::none && center != Kind::peak &&
           center != Kind::centroid && center != Kind::corner &&
           (options.boundary.kind != BoundaryKind::constant || options.boundary.value == 0) &&
           (!is_complex(c.kernel_type()) || options.operation == Operation::convolve);
}

// Executes twice into poisoned memory. Returns a description of the first defect, or "".
std::string device_defect(const ConvolverCase& c, bool keep, bool in_place,
                          bool kernel_on_device = false) {
    const Volume image = to_volume(c.image, c.image_type),
                 kernel = to_volume(c.kernel, c.kernel_type());
    DeviceOptions device;
    device.image_type = c.image_type;
    device.keep_kernel_spectrum = keep;
    device.kernel_on_device = kernel_on_device;
    ConstImageView given = kernel.view();
    if (kernel_on_device) given.data = nullptr;
    DeviceConvolver convolver(c.image_shape, given, c.options, device);
    const gpu::DeviceMemory taps = on_device(kernel);
    Volume result(convolver.output_shape(), convolver.output_type());
    const gpu::CudaStream stream;
    for (int execution = 1; execution <= 2; ++execution) {
        const gpu::DeviceMemory input = on_device(image);
        poison(result.view());
        const gpu::DeviceMemory output = on_device(result);
        const bool same = in_place && image.bytes() == result.bytes();
        char* const target = same ? input.data() : output.data();
        if (kernel_on_device)
            convolver.execute_with_kernel(input.data(), taps.data(), target,
                                          static_cast<cudaStream_t>(stream));
        else
            convolver.execute(input.data(), target, static_cast<cudaStream_t>(stream));
        stream.wait();
        if (cudaMemcpy(result.view().data, target, static_cast<std::size_t>(result.bytes()),
                       cudaMemcpyDeviceToHost) != cudaSuccess)
            return "the result could not be copied";
        const auto comparison = compare(c.expected(), to_array(result.view()),
                                        c.norm_floor(element_count(result.shape())));
        if (!comparison.within(c.options.precision))
            return message("execution ", execution, ": ", comparison.report);
    }
    return {};
}

// Returns a description of the first result of 16 bits that is not the rounded one of a convolution
// in float32 with the same values, which has another plan; or "".
std::string short_defect(const Shape3& shape, const Shape3& kernel_shape, const Options& options,
                         SampleStorage storage, bool kernel_on_device) {
    Random random(test_seed("16 bits on a device"));
    const Volume kernel = to_volume(random.array(kernel_shape, false), PixelType::float32);
    Volume image = to_volume(random.array(shape, false), PixelType::float32);
    Volume words(shape, PixelType::uint16);
    const index_t count = element_count(shape);
    encode_samples(image.elements<float>(), count, storage, words.elements<std::uint16_t>());
    decode_samples(words.elements<std::uint16_t>(), count, storage, image.elements<float>());

    DeviceOptions device;
    device.kernel_on_device = kernel_on_device;
    ConstImageView given = kernel.view();
    if (kernel_on_device) given.data = nullptr;
    const gpu::DeviceMemory taps = on_device(kernel);
    const gpu::CudaStream stream;
    const auto execute = [&](const DeviceOptions& own, const Volume& source, PixelType stored) {
        const DeviceConvolver convolver(shape, given, options, own);
        Volume result(convolver.output_shape(), stored);
        poison(result.view());
        const gpu::DeviceMemory input = on_device(source), output = on_device(result);
        for (int execution = 1; execution <= 2; ++execution)
            if (kernel_on_device)
                convolver.execute_with_kernel(input.data(), taps.data(), output.data(),
                                              static_cast<cudaStream_t>(stream));
            else
                convolver.execute(input.data(), output.data(), static_cast<cudaStream_t>(stream));
        stream.wait();
        return fetched(output, result.shape(), stored);
    };
    const Volume wanted = execute(device, image, PixelType::float32);
    device.image_storage = storage;
    const Volume from_short = execute(device, words, PixelType::float32);
    device.output_storage = storage;
    const Volume found = execute(device, words, PixelType::uint16);
    double most = 0;
    const float* const sums = wanted.elements<float>();
    for (index_t i = 0; i < element_count(wanted.shape()); ++i)
        most = std::max(most, std::abs(static_cast<double>(sums[i])));
    for (index_t i = 0; i < element_count(wanted.shape()); ++i) {
        if (!(std::abs(from_short.elements<float>()[i] - sums[i]) <= 1e-6 * most))
            return message("result ", i, " is ", from_short.elements<float>()[i], ", not ",
                           sums[i]);
        const std::uint16_t word = found.elements<std::uint16_t>()[i];
        if (!is_rounded(word, sums[i], 1e-6 * most, storage))
            return message("result ", i, " is ", testing::value_of(word, storage), " for ",
                           sums[i]);
    }
    return {};
}

}  // namespace

TEST_CASE("device convolver: images and results may be floats of 16 bits", "[gpu]") {
    NEEDS_GPU();
    // Planes in one pass, in passes along each axis, volumes, and a length without passes.
    for (const Shape3& image : {Shape3{7, 26, 24}, Shape3{5, 41, 37}, Shape3{3, 200, 210},
                                Shape3{12, 30, 34}, Shape3{1, 3, 20000}})
        for (const BoundaryKind boundary : {BoundaryKind::zero, BoundaryKind::reflect})
            for (const SampleStorage storage : {SampleStorage::float16, SampleStorage::bfloat16}) {
                Options options;
                options.boundary.kind = boundary;
                const Shape3 kernel{image.z == 12 ? 3 : 1, 3, 6};
                CAPTURE(to_string(image), boundary, to_string(storage));
                CHECK(short_defect(image, kernel, options, storage, false) == "");
                CHECK(short_defect(image, kernel, options, storage, true) == "");
            }
}

TEST_CASE("device convolver: floats of 16 bits that are not offered are refused", "[gpu]") {
    NEEDS_GPU();
    const Volume kernel = to_volume(Random(1).array({1, 3, 3}, false), PixelType::float32);
    const auto make = [&](const Options& options, const DeviceOptions& device) {
        DeviceConvolver({4, 8, 8}, kernel.view(), options, device);
    };
    DeviceOptions device;
    device.image_storage = SampleStorage::int16;
    CHECK_THROWS_AS(make({}, device), InvalidArgument);
    device.image_storage = SampleStorage::float16;
    device.image_type = PixelType::uint8;
    CHECK_THROWS_AS(make({}, device), InvalidArgument);
    device = {};
    device.output_storage = SampleStorage::bfloat16;
    Options options;
    options.precision = Precision::float64;
    CHECK_THROWS_AS(make(options, device), InvalidArgument);
    options = {};
    options.operation = Operation::adjoint;
    options.boundary.kind = BoundaryKind::reflect;
    CHECK_THROWS_AS(make(options, device), InvalidArgument);
    device.devices = {0, 0};
    CHECK_THROWS_AS(make({}, device), InvalidArgument);
}

TEST_CASE("device convolver: every operation, mode and boundary agrees with the oracle", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("sweep on device memory");
    int failures = 0;
    for (std::uint64_t number = 0; number < case_count(800) && failures < 5; ++number) {
        ConvolverCase c = random_convolver_case(seed, number, 1e5);
        c.options.nan = NanPolicy::error;
        std::string wrong;
        try {
            wrong = device_defect(c, number % 3 > 0, number % 2 > 0);
            if (wrong.empty() && may_stay_on_device(c))
                wrong = device_defect(c, number % 3 > 0, number % 2 > 0, true);
        } catch (const std::exception& thrown) {
            wrong = thrown.what();
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << number << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
}

TEST_CASE("device convolver: adjoint is the transpose of convolve", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("device adjoint"));
    for (const BoundaryKind boundary :
         {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap, BoundaryKind::nearest}) {
        ConvolverCase forward = make_case(random, {17, 20, 23}, {4, 6, 3});
        forward.options.boundary.kind = boundary;
        CHECK(device_defect(forward, true, false) == "");
        ConvolverCase backward = forward;
        backward.options.operation = Operation::adjoint;
        CHECK(device_defect(backward, true, false) == "");
        CHECK(device_defect(backward, false, true) == "");
    }
}

TEST_CASE("device convolver: planes with a kernel of one plane are convolved apart", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("planes on a device"));
    // More planes than a transform along z may have, and a single one.
    for (const Shape3& image : {Shape3{5000, 6, 9}, Shape3{33, 40, 47}, Shape3{1, 130, 70}})
        for (const BoundaryKind boundary :
             {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap})
            for (const Mode mode : {Mode::same, Mode::full, Mode::valid})
                for (const bool is_double : {false, true}) {
                    ConvolverCase c = make_case(random, image, {1, 5, 6});
                    c.options.boundary.kind = boundary;
                    c.options.mode = mode;
                    if (is_double) c.options.precision = Precision::float64;
                    CAPTURE(to_string(image), boundary, mode, is_double);
                    CHECK(device_defect(c, true, mode == Mode::same) == "");
                    CHECK(device_defect(c, false, false, may_stay_on_device(c)) == "");
                    if (mode != Mode::same) continue;  // the adjoint takes results of another size
                    c.options.operation = Operation::adjoint;
                    CHECK(device_defect(c, true, false) == "");
                }
}

TEST_CASE("device convolver: small planes are convolved in one pass", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("small planes on a device"));
    // An image for each length of the pass; rows of an odd number of pixels, and of an even one.
    for (const Shape3& image :
         {Shape3{7, 26, 25}, Shape3{5, 42, 40}, Shape3{5, 40, 47}, Shape3{3, 91, 90},
          Shape3{3, 123, 122}, Shape3{5, 32, 32}, Shape3{1, 128, 128}})
        for (const BoundaryKind boundary :
             {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap})
            for (const Mode mode : {Mode::same, Mode::full, Mode::valid}) {
                ConvolverCase c = make_case(random, image, {1, 5, 6});
                c.options.boundary.kind = boundary;
                c.options.mode = mode;
                CAPTURE(to_string(image), boundary, mode);
                CHECK(device_defect(c, true, mode == Mode::same) == "");
                CHECK(device_defect(c, false, false, may_stay_on_device(c)) == "");
                if (mode != Mode::same) continue;  // the adjoint takes results of another size
                c.options.operation = Operation::adjoint;
                CHECK(device_defect(c, true, false) == "");
            }
    // A kernel as large as the grid.
    ConvolverCase c = make_case(random, {9, 16, 16}, {1, 17, 17});
    CHECK(device_defect(c, true, false) == "");
}

TEST_CASE("device convolver: thread blocks convolve planes one after another", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("many small planes"));
    // More planes than all multiprocessors hold at a time.
    const ConvolverCase c = make_case(random, {4000, 27, 26}, {1, 5, 6});
    CHECK(device_defect(c, true, true) == "");
}

TEST_CASE("device convolver: images that follow one another are convolved as each alone", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("several images"));
    for (const Shape3& shape : {Shape3{1, 30, 31}, Shape3{2, 30, 31}, Shape3{3, 20, 22}})
        for (const bool is_double : {false, true}) {
            const Mode mode = shape.z == 2 ? Mode::full : Mode::same;
            const index_t images = 5, depth = shape.z == 3 ? 2 : 1;
            const Volume all = to_volume(random.array({images * shape.z, shape.y, shape.x}, false),
                                         PixelType::float32);
            const Volume kernel = to_volume(random.array({depth, 4, 5}, false), PixelType::float32);
            Options options;
            options.boundary.kind = BoundaryKind::reflect;
            options.mode = mode;
            if (is_double) options.precision = Precision::float64;
            for (const bool kernel_on_device : {false, true}) {
                DeviceOptions device;
                device.kernel_on_device = kernel_on_device;
                ConstImageView given = kernel.view();
                if (kernel_on_device) given.data = nullptr;
                const DeviceConvolver convolver(shape, given, options, device);
                const gpu::DeviceMemory input = on_device(all), taps = on_device(kernel);
                Shape3 of_results = convolver.output_shape();
                of_results.z *= images;
                Volume results(of_results, convolver.output_type());
                poison(results.view());
                const gpu::DeviceMemory together = on_device(results), apart = on_device(results);
                const gpu::CudaStream stream;
                const auto execute = [&](char* from, char* to, index_t count) {
                    if (kernel_on_device)
                        convolver.execute_with_kernel(from, taps.data(), to,
                                                      static_cast<cudaStream_t>(stream), count);
                    else
                        convolver.execute(from, to, static_cast<cudaStream_t>(stream), count);
                };
                execute(input.data(), together.data(), images);
                for (index_t i = 0; i < images; ++i)
                    execute(input.data() + i * (all.bytes() / images),
                            apart.data() + i * (results.bytes() / images), 1);
                stream.wait();
                CAPTURE(to_string(shape), is_double, kernel_on_device);
                CHECK(to_array(fetched(together, results.shape(), results.type()).view()).values ==
                      to_array(fetched(apart, results.shape(), results.type()).view()).values);
            }
        }
}

TEST_CASE("device convolver: two convolvers that share a workspace give the results of each alone",
          "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("shared workspace"));
    const Shape3 shape{20, 24, 28};
    const Volume image = to_volume(random.array(shape, false), PixelType::float32);
    // The second kernel needs a larger grid, for which the shared workspace grows.
    const Volume small = to_volume(random.array({3, 4, 5}, false), PixelType::float32);
    const Volume large = to_volume(random.array({17, 21, 19}, false), PixelType::float32);
    Options adjoint;
    adjoint.operation = Operation::adjoint;
    const gpu::CudaStream stream;
    const auto result_of = [&](DeviceConvolver& convolver) {
        REQUIRE(convolver.input_shape() == shape);
        const gpu::DeviceMemory input = on_device(image);
        Volume result(convolver.output_shape(), PixelType::float32);
        poison(result.view());
        const gpu::DeviceMemory output = on_device(result);
        convolver.execute(input.data(), output.data(), static_cast<cudaStream_t>(stream));
        return to_array(fetched(output, result.shape(), result.type()).view()).values;
    };
    std::optional<DeviceConvolver> first(std::in_place, shape, small.view());
    DeviceConvolver alone(shape, large.view(), adjoint);
    const auto want_of_first = result_of(*first);
    const auto want_of_second = result_of(alone);
    DeviceOptions shared;
    shared.workspace_of = &*first;
    DeviceConvolver second(shape, large.view(), adjoint, shared);
    CHECK(second.device_bytes() < alone.device_bytes());
    for (int repeat = 0; repeat < 2; ++repeat) {
        CHECK(result_of(*first) == want_of_first);
        CHECK(result_of(second) == want_of_second);
    }
    first.reset();
    CHECK(result_of(second) == want_of_second);
}

TEST_CASE("device convolver: requests that cannot be fulfilled are refused with a reason") {
    Random random(test_seed("device refusals"));
    const Volume kernel = to_volume(random.array({3, 3, 3}, false), PixelType::float32);
    if (!gpu_unavailable().empty()) {
        CHECK_THROWS_AS(DeviceConvolver({8, 8, 8}, kernel.view()), Unavailable);
        return;
    }
    DeviceOptions device;
    device.device = 99;
    CHECK_THROWS_AS(DeviceConvolver({8, 8, 8}, kernel.view(), {}, device), Unavailable);
    device.device = 0;
    device.max_gpu_bytes = 1 << 20;
    CHECK_THROWS_AS(DeviceConvolver({512, 512, 512}, kernel.view(), {}, device), OutOfMemory);
}
