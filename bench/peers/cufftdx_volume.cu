// SPDX-License-Identifier: Apache-2.0
// Times DeviceConvolver and convolutions by cuFFTDx in turns, for periodic volumes of complex
// samples and a kernel of 33×33×33 whose spectrum is kept:
//     convolume_cufftdx_volume_bench [rounds]
//
// By cuFFTDx, a volume takes five passes over memory: transforms along z and y, along x there and
// back with the product between them, and back along y and z.

#include <cstdlib>
#include <optional>

#include "bench/peers/cufftdx_transform.cuh"
#include "bench/peers/rounds.cuh"
#include "convolume/device_convolver.hpp"

using namespace convolume;
using namespace convolume::peers;

namespace {

constexpr index_t taps = 33, origin = taps / 2;
constexpr unsigned signal_seed = 5, taps_seed = 6;

/// Transforms columns whose samples are `stride` apart; the columns of a thread block are next to
/// each other. They go through shared memory, so that threads side by side read samples side by
/// side.
template <class Fft>
__global__ __launch_bounds__(Fft::max_threads_per_block) void transform_columns(
    float2* volume, index_t stride, index_t planes_stride) {
    using Complex = typename Fft::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr int length = static_cast<int>(cufftdx::size_of<Fft>::value),
                  columns = static_cast<int>(Fft::ffts_per_block), pitch = columns + 1,
                  threads = static_cast<int>(Fft::max_threads_per_block);
    auto* const tile = reinterpret_cast<float2*>(shared);
    const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    float2* const first = volume + blockIdx.y * planes_stride + index_t{blockIdx.x} * columns;
    for (int i = thread; i < length * columns; i += threads)
        tile[i / columns * pitch + i % columns] = first[i / columns * stride + i % columns];
    __syncthreads();
    Complex values[Fft::storage_size];
    const auto place = [&](int i) {
        return (i * static_cast<int>(Fft::stride) + static_cast<int>(threadIdx.x)) * pitch +
               static_cast<int>(threadIdx.y);
    };
    for (int i = 0; i < static_cast<int>(Fft::elements_per_thread); ++i)
        values[i] = Complex(tile[place(i)].x, tile[place(i)].y);
    __syncthreads();
    Fft().execute(values, shared);
    __syncthreads();
    for (int i = 0; i < static_cast<int>(Fft::elements_per_thread); ++i)
        tile[place(i)] = make_float2(values[i].x, values[i].y);
    __syncthreads();
    for (int i = thread; i < length * columns; i += threads)
        first[i / columns * stride + i % columns] = tile[i / columns * pitch + i % columns];
}

/// Transforms rows, and unless `spectrum` is null multiplies by it and transforms back.
template <class Forward, class Inverse>
__global__ __launch_bounds__(Forward::max_threads_per_block) void transform_rows(
    float2* volume, const float2* __restrict__ spectrum) {
    using Complex = typename Forward::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    const index_t row = index_t{blockIdx.x} * Forward::ffts_per_block + threadIdx.y;
    const index_t first = row * cufftdx::size_of<Forward>::value + threadIdx.x;
    Complex values[Forward::storage_size];
    for (int i = 0; i < static_cast<int>(Forward::elements_per_thread); ++i) {
        const float2 sample = volume[first + i * Forward::stride];
        values[i] = Complex(sample.x, sample.y);
    }
    Forward().execute(values, shared);
    if (spectrum != nullptr) {
        for (int i = 0; i < static_cast<int>(Forward::elements_per_thread); ++i)
            values[i] = product(values[i], spectrum[first + i * Forward::stride]);
        __syncthreads();
        Inverse().execute(values, shared);
    }
    for (int i = 0; i < static_cast<int>(Forward::elements_per_thread); ++i)
        volume[first + i * Forward::stride] = make_float2(values[i].x, values[i].y);
}

__global__ void scale(float2* values, index_t count, float factor) {
    const index_t step = index_t{gridDim.x} * blockDim.x;
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
        values[i] = make_float2(factor * values[i].x, factor * values[i].y);
}

template <unsigned Length, unsigned Elements, cufftdx::fft_direction direction>
using CubeTransform =
    decltype(BlockTransform<Length, Elements>() + cufftdx::Type<cufftdx::fft_type::c2c>() +
             cufftdx::FFTsPerBlock<(Length > 256 ? 8 : 16)>() + cufftdx::Direction<direction>());

template <class Forward, class Inverse>
class CubeConvolution {
    static constexpr unsigned extent = cufftdx::size_of<Forward>::value;
    static constexpr index_t length = extent, plane = length * length, volume = plane * length;
    static constexpr unsigned columns = Forward::ffts_per_block;
    static constexpr unsigned column_bytes =
        std::max<unsigned>(extent * (columns + 1) * sizeof(float2), Forward::shared_memory_size);

  public:
    /// `kernel` has the taps on the grid, with the origin at its first sample.
    explicit CubeConvolution(const std::vector<float2>& kernel) : spectrum_(kernel) {
        static_assert(!Forward::requires_workspace && !Inverse::requires_workspace);
        for (const auto& cuda_kernel : {transform_columns<Forward>, transform_columns<Inverse>})
            gpu::check(
                cudaFuncSetAttribute(cuda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(column_bytes)),
                "shared memory for cuFFTDx");
        gpu::check(cudaFuncSetAttribute(transform_rows<Forward, Inverse>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(row_bytes)),
                   "shared memory for cuFFTDx");
        along_z_and_y<Forward>(spectrum_.get());
        rows(spectrum_.get(), nullptr);
        scale<<<1024, 256>>>(spectrum_.get(), volume, 1.0f / static_cast<float>(volume));
    }

    void run(float2* image) const {
        along_z_and_y<Forward>(image);
        rows(image, spectrum_.get());
        columns_of<Inverse>(image, length, plane);
        columns_of<Inverse>(image, plane, length);
        gpu::check(cudaGetLastError(), "convolving with cuFFTDx");
    }

  private:
    static constexpr unsigned row_bytes =
        std::max(Forward::shared_memory_size, Inverse::shared_memory_size);

    template <class Fft>
    static void columns_of(float2* image, index_t stride, index_t planes_stride) {
        const dim3 blocks(extent / columns, extent);
        transform_columns<Fft>
            <<<blocks, Fft::block_dim, column_bytes>>>(image, stride, planes_stride);
    }
    template <class Fft>
    static void along_z_and_y(float2* image) {
        columns_of<Fft>(image, plane, length);
        columns_of<Fft>(image, length, plane);
    }
    static void rows(float2* image, const float2* spectrum) {
        transform_rows<Forward, Inverse>
            <<<static_cast<unsigned>(plane / columns), Forward::block_dim, row_bytes>>>(image,
                                                                                        spectrum);
    }

    gpu::DeviceBuffer<float2> spectrum_;
};

template <unsigned Length, unsigned Elements>
using ConvolutionByCuFftDx =
    CubeConvolution<CubeTransform<Length, Elements, cufftdx::fft_direction::forward>,
                    CubeTransform<Length, Elements, cufftdx::fft_direction::inverse>>;

/// A cube, whose convolution replaces a copy of it.
template <unsigned Length>
int compare_cubes(int rounds) {
    constexpr index_t length = Length, samples = length * length * length;
    const std::vector<float> kernel = random_values(2 * taps * taps * taps, taps_seed);
    gpu::DeviceBuffer<float> image(2 * samples), ours(2 * samples), theirs(2 * samples);
    fill_randomly(image.get(), 2 * samples, signal_seed);

    Options options;
    options.boundary.kind = BoundaryKind::wrap;
    DeviceOptions device;
    device.image_type = PixelType::complex64;
    const DeviceConvolver convolver(
        {length, length, length},
        view_of(reinterpret_cast<const std::complex<float>*>(kernel.data()), {taps, taps, taps}),
        options, device);

    std::vector<float2> on_grid(static_cast<std::size_t>(samples), make_float2(0.0f, 0.0f));
    const auto at = [](index_t tap) { return (tap - origin + length) % length; };
    for (index_t z = 0; z < taps; ++z)
        for (index_t y = 0; y < taps; ++y)
            for (index_t x = 0; x < taps; ++x) {
                const auto tap = static_cast<std::size_t>(2 * ((z * taps + y) * taps + x));
                on_grid[static_cast<std::size_t>((at(z) * length + at(y)) * length + at(x))] =
                    make_float2(kernel[tap], kernel[tap + 1]);
            }

    const auto error_of = [&](const void* results) {
        RelativeError error;
        for (const index_t position : positions_to_check(samples, 20)) {
            const index_t z = position / (length * length), y = position / length % length,
                          x = position % length;
            std::complex<double> sum = 0;
            for (index_t k = 0; k < taps; ++k)
                for (index_t j = 0; j < taps; ++j)
                    for (index_t i = 0; i < taps; ++i) {
                        const auto from = [&](index_t out, index_t tap) {
                            return (out + origin - tap + length) % length;
                        };
                        sum +=
                            random_complex((k * taps + j) * taps + i, taps_seed) *
                            random_complex((from(z, k) * length + from(y, j)) * length + from(x, i),
                                           signal_seed);
                    }
            error.add(read_element<std::complex<float>>(results, position), sum);
        }
        return error.value();
    };
    // In place: only the run that is checked begins with the image.
    std::optional<ConvolutionByCuFftDx<Length, 8>> with_8(on_grid);
    std::optional<ConvolutionByCuFftDx<Length, 16>> with_16(on_grid);
    const auto restored = [&] {
        gpu::check(
            cudaMemcpyAsync(theirs.get(), image.get(), theirs.bytes(), cudaMemcpyDeviceToDevice),
            "a copy");
        return reinterpret_cast<float2*>(theirs.get());
    };
    const auto run_8 = [&] { with_8->run(reinterpret_cast<float2*>(theirs.get())); };
    const auto run_16 = [&] { with_16->run(reinterpret_cast<float2*>(theirs.get())); };
    const bool takes_8 = quick_ms(run_8) < quick_ms(run_16);
    const auto run = [&] { takes_8 ? run_8() : run_16(); };
    const auto name = std::to_string(length) + "³";
    return compare({"volumes, complex", name, 16 * samples, rounds},
                   {{"convolume", [&] { convolver.execute(image.get(), ours.get()); },
                     [&] { return error_of(ours.get()); }},
                    {cufftdx_name() + ", five passes", run,
                     [&] {
                         restored();
                         run();
                         return error_of(theirs.get());
                     },
                     (takes_8 ? "8" : "16") + std::string(" elements a thread")}},
                   2e-5);
}

template <unsigned Length>
int compare_or_report(int rounds) {
    try {
        return compare_cubes<Length>(rounds);
    } catch (const std::exception& error) {
        report_failure("volumes, complex", std::to_string(Length) + "³", error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    const int failures = compare_or_report<128>(rounds) + compare_or_report<256>(rounds) +
                         compare_or_report<512>(rounds);
    return failures == 0 ? 0 : 1;
}
