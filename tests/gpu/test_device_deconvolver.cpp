// SPDX-License-Identifier: Apache-2.0
// Tests deconvolution from device memory to device memory.

#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>

#include "convolume/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Volume poisoned_like(const Shape3& shape, PixelType type) {
    Volume volume(shape, type);
    poison(volume.view());
    return volume;
}

}  // namespace

TEST_CASE("device deconvolver: results equal those of images on the host", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("device deconvolver"));
    const Index3 center{3, 4, 4};
    const Array psf = gaussian_psf({7, 9, 9}, center, {1.5, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {19, 37, 50}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float32);
    const gpu::CudaStream stream;
    for (const PixelType type : {PixelType::float32, PixelType::uint16}) {
        const Volume image = to_volume(specimen.recorded, type);
        const gpu::DeviceMemory image_on_gpu = on_device(image);
        for (const auto method :
             {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
              DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::wiener_butterworth,
              DeconvolveMethod::gradient_consensus, DeconvolveMethod::non_negative_least_squares,
              DeconvolveMethod::wiener})
            for (const bool zero : {false, true}) {
                DeconvolveOptions options;
                options.method = method;
                options.iterations = 6;
                options.background.reset();  // the background is estimated from the image
                options.hold_out = zero && method != DeconvolveMethod::wiener &&
                                   method != DeconvolveMethod::non_negative_least_squares;
                if (zero) options.boundary = Boundary{BoundaryKind::zero};
                EngineChoice engines;
                engines.device = EngineChoice::Device::gpu;
                engines.gpus = {0};
                DeviceDeconvolveOptions on;
                on.image_type = on.output_type = type;
                const DeviceDeconvolver deconvolver(image.shape(), taps.view(), options, on);
                if (options.hold_out) {
                    // Images in GPU memory have another search for the number of iterations.
                    const gpu::DeviceMemory ignored = on_device(poisoned_like(image.shape(), type));
                    options.iterations = deconvolver
                                             .execute(image_on_gpu.data(), ignored.data(),
                                                      static_cast<cudaStream_t>(stream))
                                             .iterations;
                    options.hold_out = false;
                }
                Volume wanted(image.shape(), type);
                const DeconvolveReport report =
                    Deconvolver(image.shape(), taps.view(), options, engines)
                        .execute(image.view(), wanted.view());
                CHECK(deconvolver.plan().on_device);
                for (int execution = 0; execution < 2; ++execution) {
                    const gpu::DeviceMemory result = on_device(poisoned_like(image.shape(), type));
                    const DeconvolveReport got = deconvolver.execute(
                        image_on_gpu.data(), result.data(), static_cast<cudaStream_t>(stream));
                    INFO(to_string(method) << ", zero " << zero << ", " << to_string(type));
                    CHECK(got.iterations == report.iterations);
                    CHECK(got.background == report.background);
                    CHECK(got.executed.clamped_high == report.executed.clamped_high);
                    const Comparison comparison =
                        compare(to_array(wanted.view()),
                                to_array(fetched(result, image.shape(), type).view()));
                    INFO(comparison.report);
                    // The GPU sums the mean in another order.
                    CHECK(comparison.error < (type == PixelType::float32 ? 1e-5 : 1e-3));
                }
            }
    }
}

TEST_CASE("device deconvolver: earlier work on the caller's CUDA stream is done first", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("device deconvolver on a stream"));
    const Index3 center{2, 4, 4};
    const Array psf = gaussian_psf({5, 9, 9}, center, {1, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {64, 256, 256}, psf, center, 6, 20000, 5);
    const Volume image = to_volume(specimen.recorded, PixelType::float32);
    DeconvolveOptions options;
    options.iterations = 2;
    const DeviceDeconvolver deconvolver(image.shape(), to_volume(psf, PixelType::float32).view(),
                                        options);
    const gpu::DeviceMemory from = on_device(image);
    const gpu::DeviceMemory image_on_gpu =
        on_device(poisoned_like(image.shape(), PixelType::float32));
    const gpu::DeviceMemory result(0, image.bytes());
    const gpu::CudaStream stream;
    const auto bytes = static_cast<std::size_t>(image.bytes());
    for (int k = 0; k < 200; ++k)  // delays the copy, so that a missing wait is noticed
        REQUIRE(cudaMemsetAsync(image_on_gpu.data(), k, bytes, stream) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(image_on_gpu.data(), from.data(), bytes, cudaMemcpyDeviceToDevice,
                            stream) == cudaSuccess);
    deconvolver.execute(image_on_gpu.data(), result.data(), static_cast<cudaStream_t>(stream));
    const Array first = to_array(fetched(result, image.shape(), PixelType::float32).view());
    deconvolver.execute(from.data(), result.data());
    CHECK(first.values ==
          to_array(fetched(result, image.shape(), PixelType::float32).view()).values);
    // The result may replace the image.
    deconvolver.execute(from.data(), from.data());
    CHECK(first.values == to_array(fetched(from, image.shape(), PixelType::float32).view()).values);
}

TEST_CASE("device deconvolver: bad input is refused", "[gpu]") {
    NEEDS_GPU();
    const Array psf = gaussian_psf({3, 5, 5}, {1, 2, 2}, {1, 1, 1});
    const Volume taps = to_volume(psf, PixelType::float32);
    const Shape3 shape{4, 8, 9};
    const DeviceDeconvolver deconvolver(shape, taps.view());
    Volume image(shape, PixelType::float32);
    image.elements<float>()[17] = std::numeric_limits<float>::quiet_NaN();
    const gpu::DeviceMemory image_on_gpu = on_device(image);
    CHECK_THROWS_AS(deconvolver.execute(image_on_gpu.data(), image_on_gpu.data()), BadData);
    CHECK_THROWS_AS(deconvolver.execute(nullptr, image_on_gpu.data()), InvalidArgument);
    DeviceDeconvolveOptions on;
    on.max_gpu_bytes = 1000;
    CHECK_THROWS_AS(DeviceDeconvolver(shape, taps.view(), {}, on), OutOfMemory);
    on.max_gpu_bytes.reset();
    on.image_type = PixelType::complex64;
    CHECK_THROWS_AS(DeviceDeconvolver(shape, taps.view(), {}, on), InvalidArgument);
    DeconvolveOptions coarse;
    coarse.coarse_start = 3;
    CHECK_THROWS_AS(DeviceDeconvolver(shape, taps.view(), coarse), InvalidArgument);
}
