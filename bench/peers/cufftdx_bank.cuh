// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bank of filters by overlap-save with cuFFTDx, as one CUDA kernel: a thread block transforms a
// segment, keeps the spectrum in registers, multiplies it by the spectra of filters, and stores
// the valid part of each inverse transform.
//
// Complex samples are transformed as they are. Pairs of real samples are read as the complex
// elements of cuFFTDx's folded real transforms, so that the same CUDA kernel serves both. A segment
// has N elements: N complex, or 2N real samples.

#include <memory>

#include "bench/peers/bank.cuh"
#include "bench/peers/cufftdx_transform.cuh"

namespace convolume::peers {

/// Sizes in elements: complex samples, or pairs of real ones.
struct Segments {
    index_t elements;    ///< of the signal, and of each filter's results
    int overlap;         ///< elements of a segment that are not valid, at its beginning
    int reach;           ///< elements before its first result that a segment begins
    int filters;         ///< of the bank
    int filters_a_turn;  ///< that one thread block computes
};

template <class Forward>
constexpr int stored_spectrum() {
    return static_cast<int>(Forward::output_ept * Forward::stride);
}

/// Transforms one filter for each y index of a thread. Spectra are stored as threads hold them,
/// divided by the length of the transform.
template <class Forward>
__global__ __launch_bounds__(Forward::max_threads_per_block) void transform_filters(
    const float2* taps, int elements, int filters, float2* spectra) {
    using Complex = typename Forward::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    const int filter = static_cast<int>(blockIdx.x * Forward::ffts_per_block + threadIdx.y);
    Complex values[Forward::storage_size] = {};
    for (int i = 0; i < static_cast<int>(Forward::input_ept); ++i) {
        const int at = i * static_cast<int>(Forward::stride) + static_cast<int>(threadIdx.x);
        const bool holds_tap = filter < filters && at < elements;
        const float2 tap =
            holds_tap ? taps[index_t{filter} * elements + at] : make_float2(0.0f, 0.0f);
        values[i] = Complex(tap.x, tap.y);
    }
    Forward().execute(values, shared);
    if (filter >= filters) return;
    const float scale = 1.0f / static_cast<float>(cufftdx::size_of<Forward>::value);
    float2* const spectrum = spectra + index_t{filter} * stored_spectrum<Forward>();
    for (int i = 0; i < static_cast<int>(Forward::output_ept); ++i) {
        const int at = i * static_cast<int>(Forward::stride) + static_cast<int>(threadIdx.x);
        const bool used = at < static_cast<int>(Forward::output_length);
        spectrum[at] =
            used ? make_float2(scale * values[i].x, scale * values[i].y) : make_float2(0.0f, 0.0f);
    }
}

template <class Forward, class Inverse>
__global__ __launch_bounds__(Forward::max_threads_per_block) void filter_segments(
    const float2* __restrict__ signal, const float2* __restrict__ spectra,
    float2* __restrict__ results, const Segments s) {
    using Complex = typename Forward::value_type;
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr int stride = static_cast<int>(Forward::stride);
    const int thread = static_cast<int>(threadIdx.x);
    const int valid = static_cast<int>(Forward::input_length) - s.overlap;
    const index_t first_result =
        (index_t{blockIdx.x} * Forward::ffts_per_block + threadIdx.y) * valid;

    Complex spectrum[Forward::storage_size] = {};
#pragma unroll
    for (int i = 0; i < static_cast<int>(Forward::input_ept); ++i) {
        const index_t at = first_result - s.reach + i * stride + thread;
        const float2 sample = at >= 0 && at < s.elements ? signal[at] : make_float2(0.0f, 0.0f);
        spectrum[i] = Complex(sample.x, sample.y);
    }
    Forward().execute(spectrum, shared);

    const int begin = static_cast<int>(blockIdx.y) * s.filters_a_turn;
    const int end = min(begin + s.filters_a_turn, s.filters);
    for (int filter = begin; filter < end; ++filter) {
        const float2* const h = spectra + index_t{filter} * stored_spectrum<Forward>();
        Complex values[Inverse::storage_size] = {};
#pragma unroll
        for (int i = 0; i < static_cast<int>(Forward::output_ept); ++i)
            values[i] = product(spectrum[i], h[i * stride + thread]);
        Inverse().execute(values, shared);
        float2* const row = results + filter * s.elements;
#pragma unroll
        for (int i = 0; i < static_cast<int>(Inverse::output_ept); ++i) {
            const int place = i * stride + thread - s.overlap;
            const index_t at = first_result + place;
            if (place >= 0 && at < s.elements) row[at] = make_float2(values[i].x, values[i].y);
        }
    }
}

/// One length of segments, with the spectra of the filters.
template <class Forward, class Inverse>
class SegmentedBank {
    static_assert(Forward::input_length == Inverse::output_length);
    static_assert(Forward::output_length == Inverse::input_length);
    static_assert(Forward::output_ept == Inverse::input_ept);
    static_assert(Forward::stride == Inverse::stride);
    static_assert(!Forward::requires_workspace && !Inverse::requires_workspace);

  public:
    /// `taps` and `overlap`, taps - 1, are in elements; taps of a bank of real filters are even in
    /// number, the last one 0.
    SegmentedBank(const BankCase& bank, const float2* taps, int tap_elements)
        : spectra_(bank.filters * stored_spectrum<Forward>()) {
        const int samples_an_element = bank.complex_data ? 1 : 2;
        const auto overlap = static_cast<int>(bank.taps - 1);
        segments_ = {bank.samples / samples_an_element, overlap / samples_an_element,
                     overlap / 2 / samples_an_element, static_cast<int>(bank.filters), 1};
        if (overlap % (2 * samples_an_element) != 0)
            throw InternalError("a filter that does not begin at an element");
        const auto allow_shared_memory = [](const auto& cuda_kernel) {
            gpu::check(
                cudaFuncSetAttribute(cuda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)),
                "shared memory for cuFFTDx");
        };
        allow_shared_memory(transform_filters<Forward>);
        allow_shared_memory(filter_segments<Forward, Inverse>);
        const auto blocks =
            static_cast<unsigned>(ceil_div(bank.filters, index_t{Forward::ffts_per_block}));
        transform_filters<Forward><<<blocks, Forward::block_dim, shared_bytes>>>(
            taps, tap_elements, segments_.filters, spectra_.get());
        gpu::check(cudaGetLastError(), "transforming filters with cuFFTDx");
    }

    void run(const void* signal, void* results, int filters_a_turn) const {
        Segments s = segments_;
        s.filters_a_turn = filters_a_turn;
        const index_t valid = index_t{Forward::input_length} - s.overlap;
        const dim3 blocks(static_cast<unsigned>(ceil_div(ceil_div(s.elements, valid),
                                                         index_t{Forward::ffts_per_block})),
                          static_cast<unsigned>((s.filters + filters_a_turn - 1) / filters_a_turn));
        filter_segments<Forward, Inverse><<<blocks, Forward::block_dim, shared_bytes>>>(
            static_cast<const float2*>(signal), spectra_.get(), static_cast<float2*>(results), s);
        gpu::check(cudaGetLastError(), "filtering with cuFFTDx");
    }

    static constexpr unsigned shared_bytes =
        std::max(Forward::shared_memory_size, Inverse::shared_memory_size);

  private:
    gpu::DeviceBuffer<float2> spectra_;
    Segments segments_{};
};

/// The fastest of the variants that were tried.
struct FastestBank {
    double ms = 1e9;
    std::function<void()> run;
    std::string note;
};

/// Tries segments of one length and one number of elements a thread, with several numbers of
/// filters a turn. A variant that throws is left out, with a line on the error stream.
template <class Forward, class Inverse>
void try_segments(const BankCase& bank, BankData& data, const gpu::DeviceBuffer<float>& taps,
                  FastestBank& fastest) {
    const std::string length = std::to_string(cufftdx::size_of<Forward>::value);
    try {
        const int tap_elements =
            static_cast<int>(bank.complex_data ? bank.taps : bank.taps / 2 + 1);
        const auto segmented = std::make_shared<SegmentedBank<Forward, Inverse>>(
            bank, reinterpret_cast<const float2*>(taps.get()), tap_elements);
        for (const int filters : {1, 2, 4, 8, 16}) {
            const auto run = [segmented, &data, filters] {
                segmented->run(data.signal.get(), data.their_results.get(), filters);
            };
            const double ms = quick_ms(run);
            if (ms >= fastest.ms) continue;
            fastest = {ms, run,
                       "segments of " + length + ", " +
                           std::to_string(Forward::elements_per_thread) + " elements a thread, " +
                           std::to_string(Forward::ffts_per_block) + " segments a block, " +
                           std::to_string(filters) + " filters a turn"};
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "segments of %s are left out: %s\n", length.c_str(), error.what());
    }
}

/// Number of transforms of `Threads` threads each that fill a thread block of 128 threads.
template <unsigned Threads>
using TransformsPerBlock = cufftdx::FFTsPerBlock<(Threads < 128 ? 128 / Threads : 1)>;

}  // namespace convolume::peers
