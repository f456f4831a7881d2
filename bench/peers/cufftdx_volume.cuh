// SPDX-License-Identifier: Apache-2.0
#pragma once
// Circular convolution of a volume with cuFFTDx, in five CUDA kernels: rows along x, columns along
// y, columns along z with the product of spectra and the way back, columns along y, rows along x.
//
// Rows are contiguous, and are read and written by the threads that transform them. Columns are
// neighbors in memory. A thread block reads `Width` of them together, and moves them through shared
// memory to the threads that transform them.

#include <cufftdx.hpp>

#include "bench/peers/cufftdx_bank.cuh"

namespace convolume::peers {

/// Columns of a spectrum: rows of x < columns, at a pitch that whole tiles fill.
struct ColumnArray {
    float2* data;
    index_t step;  ///< from one element of a column to the next
    index_t line;  ///< from the columns of one blockIdx.y to those of the next
    int columns;
};

template <class Forward>
__global__ __launch_bounds__(Forward::max_threads_per_block) void transform_rows(
    const float2* __restrict__ image, float2* __restrict__ spectrum, index_t pitch) {
    using Complex = typename Forward::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    const index_t row = index_t{blockIdx.x} * Forward::ffts_per_block + threadIdx.y;
    Complex values[Forward::storage_size] = {};
#pragma unroll
    for (int i = 0; i < static_cast<int>(Forward::input_ept); ++i) {
        const float2 pair = image[row * Forward::input_length + i * Forward::stride + threadIdx.x];
        values[i] = Complex(pair.x, pair.y);
    }
    Forward().execute(values, shared);
#pragma unroll
    for (int i = 0; i < static_cast<int>(Forward::output_ept); ++i) {
        const unsigned at = i * Forward::stride + threadIdx.x;
        if (at < Forward::output_length)
            spectrum[row * pitch + at] = make_float2(values[i].x, values[i].y);
    }
}

template <class Inverse>
__global__ __launch_bounds__(Inverse::max_threads_per_block) void restore_rows(
    const float2* __restrict__ spectrum, float2* __restrict__ image, index_t pitch) {
    using Complex = typename Inverse::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    const index_t row = index_t{blockIdx.x} * Inverse::ffts_per_block + threadIdx.y;
    Complex values[Inverse::storage_size] = {};
#pragma unroll
    for (int i = 0; i < static_cast<int>(Inverse::input_ept); ++i) {
        const unsigned at = i * Inverse::stride + threadIdx.x;
        if (at < Inverse::input_length) {
            const float2 value = spectrum[row * pitch + at];
            values[i] = Complex(value.x, value.y);
        }
    }
    Inverse().execute(values, shared);
#pragma unroll
    for (int i = 0; i < static_cast<int>(Inverse::output_ept); ++i)
        image[row * Inverse::output_length + i * Inverse::stride + threadIdx.x] =
            make_float2(values[i].x, values[i].y);
}

/// Moves a tile of columns between device memory and registers, through shared memory. Thread
/// (x, y) holds elements x, x + stride, … of column y.
template <class Transform>
class ColumnTile {
    using Complex = typename Transform::value_type;
    static constexpr int width = static_cast<int>(Transform::ffts_per_block);
    static constexpr int length = static_cast<int>(Transform::input_length);
    static constexpr int elements = static_cast<int>(Transform::input_ept);
    static constexpr int stride = static_cast<int>(Transform::stride);
    /// Distance of columns in shared memory: 16 threads that write together use all banks.
    static constexpr int distance = length + (width < 16 ? 16 / width : 1);

  public:
    static constexpr unsigned shared_bytes =
        std::max<unsigned>(width * distance * sizeof(float2), Transform::shared_memory_size);

    __device__ ColumnTile(const ColumnArray& array, void* shared)
        : array_(array),
          shared_(static_cast<float2*>(shared)),
          column_(linear_thread() % width),
          row_(linear_thread() / width),
          first_(array.data + index_t{blockIdx.y} * array.line + index_t{blockIdx.x} * width) {}

    static __device__ int linear_thread() {
        return static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
    }
    __device__ void load(Complex* values) const {
#pragma unroll
        for (int i = 0; i < elements; ++i)
            shared_[column_ * distance + row_ + i * stride] =
                is_inside() ? first_[(row_ + i * stride) * array_.step + column_]
                            : make_float2(0.0f, 0.0f);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            const float2 value = *own_element(i);
            values[i] = Complex(value.x, value.y);
        }
        __syncthreads();
    }
    __device__ void store(const Complex* values) const {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < elements; ++i) *own_element(i) = make_float2(values[i].x, values[i].y);
        __syncthreads();
        if (!is_inside()) return;
#pragma unroll
        for (int i = 0; i < elements; ++i)
            first_[(row_ + i * stride) * array_.step + column_] =
                shared_[column_ * distance + row_ + i * stride];
    }

  private:
    __device__ bool is_inside() const {
        return static_cast<int>(blockIdx.x) * width + column_ < array_.columns;
    }
    __device__ float2* own_element(int i) const {
        return shared_ + static_cast<int>(threadIdx.y) * distance + i * stride +
               static_cast<int>(threadIdx.x);
    }

    ColumnArray array_;
    float2* shared_;
    int column_, row_;
    float2* first_;
};

template <class Transform>
__global__ __launch_bounds__(Transform::max_threads_per_block) void transform_columns(
    const ColumnArray array) {
    extern __shared__ __align__(16) unsigned char shared[];
    const ColumnTile<Transform> tile(array, shared);
    typename Transform::value_type values[Transform::storage_size];
    tile.load(values);
    Transform().execute(values, shared);
    tile.store(values);
}

/// Returns where the element i of a thread is in a kernel's spectrum, which has the order in which
/// threads hold it.
template <class Transform>
__device__ index_t place_in_spectrum(int i) {
    const index_t block = index_t{blockIdx.y} * gridDim.x + blockIdx.x;
    return (block * Transform::input_ept + i) * Transform::max_threads_per_block +
           ColumnTile<Transform>::linear_thread();
}

/// Transforms the columns of a kernel, and stores the spectrum times `scale`.
template <class Forward>
__global__ __launch_bounds__(Forward::max_threads_per_block) void keep_spectrum(
    const ColumnArray array, float2* spectrum, float scale) {
    extern __shared__ __align__(16) unsigned char shared[];
    const ColumnTile<Forward> tile(array, shared);
    typename Forward::value_type values[Forward::storage_size];
    tile.load(values);
    Forward().execute(values, shared);
#pragma unroll
    for (int i = 0; i < static_cast<int>(Forward::input_ept); ++i)
        spectrum[place_in_spectrum<Forward>(i)] =
            make_float2(scale * values[i].x, scale * values[i].y);
}

template <class Forward, class Inverse>
__global__ __launch_bounds__(Forward::max_threads_per_block) void multiply_columns(
    const ColumnArray array, const float2* __restrict__ spectrum) {
    extern __shared__ __align__(16) unsigned char shared[];
    const ColumnTile<Forward> tile(array, shared);
    typename Forward::value_type values[Forward::storage_size];
    tile.load(values);
    Forward().execute(values, shared);
#pragma unroll
    for (int i = 0; i < static_cast<int>(Forward::input_ept); ++i)
        values[i] = product(values[i], spectrum[place_in_spectrum<Forward>(i)]);
    Inverse().execute(values, shared);
    tile.store(values);
}

/// Plan of a circular convolution: extents, number of columns that a thread block transforms, and
/// number of elements that a thread holds.
template <unsigned Nz, unsigned Ny, unsigned Nx, unsigned Width, unsigned Elements>
class FusedVolume {
    using Folded =
        cufftdx::RealFFTOptions<cufftdx::complex_layout::natural, cufftdx::real_mode::folded>;
    using Rows = decltype(BlockTransform<Nx, 16>() + cufftdx::FFTsPerBlock<4>());
    using RowsForward = decltype(Rows() + cufftdx::Type<cufftdx::fft_type::r2c>() + Folded());
    using RowsInverse = decltype(Rows() + cufftdx::Type<cufftdx::fft_type::c2r>() + Folded());
    template <unsigned Length, cufftdx::fft_direction Sense>
    using Columns = decltype(BlockTransform<Length, Elements>() + cufftdx::FFTsPerBlock<Width>() +
                             cufftdx::Type<cufftdx::fft_type::c2c>() + cufftdx::Direction<Sense>());
    using YForward = Columns<Ny, cufftdx::fft_direction::forward>;
    using YInverse = Columns<Ny, cufftdx::fft_direction::inverse>;
    using ZForward = Columns<Nz, cufftdx::fft_direction::forward>;
    using ZInverse = Columns<Nz, cufftdx::fft_direction::inverse>;

    static constexpr index_t columns = Nx / 2 + 1, tiles = (columns + Width - 1) / Width;
    static constexpr index_t pitch = tiles * Width, work_elements = pitch * Ny * Nz;
    static_assert(Nz * Ny % 4 == 0);

  public:
    /// Transforms `kernel`, an image of the extents with its origin at element 0.
    explicit FusedVolume(const float* kernel)
        : work_(work_elements), spectrum_(tiles * Width * Ny * Nz) {
        allow(transform_rows<RowsForward>, RowsForward::shared_memory_size);
        allow(restore_rows<RowsInverse>, RowsInverse::shared_memory_size);
        allow(transform_columns<YForward>, ColumnTile<YForward>::shared_bytes);
        allow(transform_columns<YInverse>, ColumnTile<YInverse>::shared_bytes);
        allow(keep_spectrum<ZForward>, ColumnTile<ZForward>::shared_bytes);
        allow(multiply_columns<ZForward, ZInverse>, z_bytes);
        transform(kernel);
        keep_spectrum<ZForward><<<z_blocks(), ZForward::block_dim, z_bytes>>>(
            along_z(), spectrum_.get(),
            1.0f / (static_cast<float>(Nz) * static_cast<float>(Ny) * static_cast<float>(Nx)));
        gpu::check(cudaGetLastError(), "keeping a spectrum with cuFFTDx");
    }

    void run(const float* image, float* result) const {
        transform(image);
        multiply_columns<ZForward, ZInverse>
            <<<z_blocks(), ZForward::block_dim, z_bytes>>>(along_z(), spectrum_.get());
        transform_columns<YInverse>
            <<<y_blocks(), YInverse::block_dim, ColumnTile<YInverse>::shared_bytes>>>(along_y());
        restore_rows<RowsInverse>
            <<<row_blocks, RowsInverse::block_dim, RowsInverse::shared_memory_size>>>(
                work_.get(), reinterpret_cast<float2*>(result), pitch);
        gpu::check(cudaGetLastError(), "convolving with cuFFTDx");
    }

  private:
    static constexpr unsigned row_blocks = Nz * Ny / 4;
    static constexpr unsigned z_bytes =
        std::max(ColumnTile<ZForward>::shared_bytes, ColumnTile<ZInverse>::shared_bytes);

    template <class CudaKernel>
    static void allow(CudaKernel cuda_kernel, unsigned bytes) {
        gpu::check(cudaFuncSetAttribute(cuda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)),
                   "shared memory for cuFFTDx");
    }
    void transform(const float* image) const {
        transform_rows<RowsForward>
            <<<row_blocks, RowsForward::block_dim, RowsForward::shared_memory_size>>>(
                reinterpret_cast<const float2*>(image), work_.get(), pitch);
        transform_columns<YForward>
            <<<y_blocks(), YForward::block_dim, ColumnTile<YForward>::shared_bytes>>>(along_y());
        gpu::check(cudaGetLastError(), "transforming with cuFFTDx");
    }
    static dim3 y_blocks() { return dim3(static_cast<unsigned>(tiles), Nz); }
    static dim3 z_blocks() { return dim3(static_cast<unsigned>(tiles), Ny); }
    ColumnArray along_y() const {
        return {work_.get(), pitch, pitch * Ny, static_cast<int>(columns)};
    }
    ColumnArray along_z() const {
        return {work_.get(), pitch * Ny, pitch, static_cast<int>(columns)};
    }

    gpu::DeviceBuffer<float2> work_, spectrum_;
};

}  // namespace convolume::peers
