// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "convolume/cuda/detail/device_block.cuh"
#include "convolume/cuda/detail/segment_post.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/grid.cuh"
#include "gpu/signals/cufft_kernels.hpp"

namespace convolume::gpu {

namespace {

constexpr int threads = grid_threads;

template <class Target, class Real>
__device__ Target as(Real value) {
    return static_cast<Target>(value);
}
template <class Target, class Real>
__device__ Target as(Complex<Real> value) {
    using Component = decltype(Target{}.re);
    return {static_cast<Component>(value.re), static_cast<Component>(value.im)};
}

template <class Source, class Target>
__global__ void cut_cuda_kernel(const Source* source, RowCut cut, Target* target) {
    for (index_t i = first_item(); i < cut.rows * cut.pitch; i += item_step()) {
        const index_t row = cut.rows == 1 ? 0 : i / cut.pitch, x = i - row * cut.pitch;
        const index_t at = cut.begin + row * cut.hop + x - cut.first;
        Target value{};
        if (x < cut.used && at >= 0 && at < cut.available) value = as<Target>(source[at]);
        target[i] = value;
    }
}

/// Returns element `at` of samples of 16 bits, as a Target.
template <class Decoder, class Target>
__device__ Target decoded(const SampleWord* source, index_t at) {
    const Decoder decode;
    if constexpr (std::is_same_v<Target, float>)
        return decode(source[at]);
    else
        return {decode(source[2 * at]), decode(source[2 * at + 1])};
}

template <class Target>
__global__ void cut_short_cuda_kernel(const SampleWord* source, SampleStorage storage, RowCut cut,
                                      Target* target) {
    visit_storage(storage, [&](auto kind) {
        using Decoder = typename decltype(kind)::Decoder;
        for (index_t i = first_item(); i < cut.rows * cut.pitch; i += item_step()) {
            const index_t row = cut.rows == 1 ? 0 : i / cut.pitch, x = i - row * cut.pitch;
            const index_t at = cut.begin + row * cut.hop + x - cut.first;
            Target value{};
            if (x < cut.used && at >= 0 && at < cut.available)
                value = decoded<Decoder, Target>(source, at);
            target[i] = value;
        }
    });
}

template <class Real>
__global__ void scale_cuda_kernel(const Complex<double>* source, double scale,
                                  Complex<Real>* target, index_t count) {
    for (index_t i = first_item(); i < count; i += item_step())
        target[i] = as<Complex<Real>>(scale * source[i]);
}

/// Sums products for `PerThread` outputs in each thread: each factor is read once for all their
/// products.
template <class Real, int PerThread>
__global__ void sum_cuda_kernel(SignalSpectra<Real> signal, const Complex<Real>* filter,
                                index_t bins, index_t partitions, index_t outputs,
                                Complex<Real>* sums) {
    const index_t groups = (outputs + PerThread - 1) / PerThread;
    for (index_t i = first_item(); i < groups * bins; i += item_step()) {
        const index_t group = i / bins, bin = i - group * bins, k = group * PerThread;
        const auto segment = [&](index_t b) {
            b -= signal.first;
            return b >= 0 && b < signal.count ? signal.data[b * bins + bin] : Complex<Real>{};
        };
        // In step j, signal[k + o + partitions - 1 - j] is in slot (o - j) modulo PerThread. Each
        // step adds one segment to the window and drops one.
        Complex<Real> sum[PerThread] = {}, window[PerThread] = {};
        unroll<PerThread - 1>([&](auto o) { window[o + 1] = segment(k + o + 1 + partitions - 1); });
        for (index_t first = 0; first < partitions; first += PerThread) {
            unroll<PerThread>([&](auto step) {
                const index_t j = first + step;
                if (j >= partitions) return;
                constexpr int shift = decltype(step)::value;
                window[(PerThread - shift) % PerThread] = segment(k + partitions - 1 - j);
                const Complex<Real> h = filter[j * bins + bin];
                unroll<PerThread>([&](auto o) {
                    constexpr int slot = (decltype(o)::value + PerThread - shift) % PerThread;
                    sum[o].re += window[slot].re * h.re - window[slot].im * h.im;
                    sum[o].im += window[slot].re * h.im + window[slot].im * h.re;
                });
            });
        }
        unroll<PerThread>([&](auto o) {
            if (k + o < outputs) sums[(k + o) * bins + bin] = sum[o];
        });
    }
}

/// Returns result n of the rows, after `power`.
template <class Real, class Value, bool power>
__device__ auto result_at(const Value* rows, const RowResults& results, index_t n) {
    const index_t row = n / results.hop;
    const Value v = rows[row * results.pitch + results.skip + n - row * results.hop];
    if constexpr (!power)
        return v;
    else if constexpr (std::is_same_v<Value, Real>)
        return v * v;
    else
        return v.re * v.re + v.im * v.im;
}

/// Calls f(i, n) for each result n that is stored, as element i of the range.
template <class F>
__device__ void for_each_stored(const RowResults& results, const F& f) {
    const index_t length =
        results.window.kind == WindowPost::Kind::none ? 1 : results.window.length;
    const index_t offset_in_window = results.before % length;
    const index_t first = offset_in_window == 0 ? 0 : length - offset_in_window;
    const index_t begin = (results.before + first) / length;
    for (index_t i = first_item(); first + i * length < results.count; i += item_step())
        f(begin + i, first + i * length);
}

template <class Real, class Value, bool power>
__global__ void store_cuda_kernel(const Value* rows, RowResults results, void* target) {
    using Result = std::conditional_t<power, Real, Value>;
    auto* const stored = static_cast<Result*>(target);
    for_each_stored(results, [&](index_t i, index_t n) {
        stored[i] = result_at<Real, Value, power>(rows, results, n);
    });
}

template <class Value, bool power>
__global__ void store_short_cuda_kernel(const Value* rows, RowResults results, StorageJob storage,
                                        SampleWord* target) {
    visit_storage(storage.target, [&](auto kind) {
        typename decltype(kind)::Encoder encode(storage.factor);
        for_each_stored(results, [&](index_t i, index_t n) {
            const auto value = result_at<float, Value, power>(rows, results, n);
            if constexpr (std::is_same_v<std::remove_const_t<decltype(value)>, float>) {
                target[i] = encode(value);
            } else {
                target[2 * i] = encode(value.re);
                target[2 * i + 1] = encode(value.im);
            }
        });
        encode.add_clamped(DeviceBlock{}, storage.clamped);
    });
}

/// Finds the peak of each window with one thread block; all results of the window are in `rows`.
template <class Real, class Value, bool power>
__global__ void peak_cuda_kernel(const Value* rows, RowResults results, Real* target,
                                 index_t* positions, index_t begin_of_range) {
    __shared__ Real values[threads];
    __shared__ index_t places[threads];
    const index_t length = results.window.length;
    const int thread = static_cast<int>(threadIdx.x);
    for (index_t w = blockIdx.x; w * length < results.count; w += gridDim.x) {
        const index_t begin = w * length;
        const index_t end = begin + length < results.count ? begin + length : results.count;
        Peak<Real, index_t> peak{result_at<Real, Value, power>(rows, results, begin), begin};
        for (index_t n = begin + thread; n < end; n += threads)
            peak.consider(result_at<Real, Value, power>(rows, results, n), n);
        values[thread] = peak.value;
        places[thread] = peak.position;
        __syncthreads();
        for (int half = threads / 2; half > 0; half /= 2) {
            if (thread < half) {
                peak.consider(values[thread + half], places[thread + half]);
                values[thread] = peak.value;
                places[thread] = peak.position;
            }
            __syncthreads();
        }
        if (thread == 0) {
            const index_t to = results.before / length + w;
            target[to] = peak.value;
            if (positions != nullptr)
                positions[to] = begin_of_range + results.before + peak.position;
        }
        __syncthreads();
    }
}

}  // namespace

template <class Source, class Target>
void cut_rows(const Source* source, const RowCut& cut, Target* target, cudaStream_t stream) {
    cut_cuda_kernel<<<grid_blocks(cut.rows * cut.pitch), threads, 0, stream>>>(source, cut, target);
    check(cudaGetLastError(), "cutting samples into segments");
}

template <class Target>
void cut_short_rows(const SampleWord* source, SampleStorage storage, const RowCut& cut,
                    Target* target, cudaStream_t stream) {
    cut_short_cuda_kernel<<<grid_blocks(cut.rows * cut.pitch), threads, 0, stream>>>(
        source, storage, cut, target);
    check(cudaGetLastError(), "cutting samples into segments");
}

template <class Real>
void scale_spectra(const Complex<double>* source, double scale, Complex<Real>* target,
                   index_t count, cudaStream_t stream) {
    scale_cuda_kernel<<<grid_blocks(count), threads, 0, stream>>>(source, scale, target, count);
    check(cudaGetLastError(), "scaling the spectra of filters");
}

template <class Real>
void sum_products(const SignalSpectra<Real>& signal, const Complex<Real>* filter, index_t bins,
                  index_t partitions, index_t outputs, Complex<Real>* sums, cudaStream_t stream) {
    const auto launch = [&](auto per_thread) {
        constexpr int count = decltype(per_thread)::value;
        sum_cuda_kernel<Real, count>
            <<<grid_blocks(ceil_div(outputs, count) * bins), threads, 0, stream>>>(
                signal, filter, bins, partitions, outputs, sums);
    };
    // More outputs per thread read less memory, but leave fewer threads.
    constexpr index_t enough_threads = 1 << 17;
    const auto fits = [&](index_t per_thread) {
        return per_thread <= outputs && ceil_div(outputs, per_thread) * bins >= enough_threads;
    };
    if (partitions == 1 || outputs == 1) {
        launch(Constant<1>{});
    } else if (fits(16)) {
        launch(Constant<16>{});
    } else if (fits(8)) {
        launch(Constant<8>{});
    } else {
        launch(Constant<4>{});
    }
    check(cudaGetLastError(), "multiplying spectra");
}

template <class Real, class Value>
void store_rows(const Value* rows, const RowResults& results, void* target, index_t* positions,
                index_t begin, cudaStream_t stream) {
    const auto store = [&](auto power) {
        constexpr bool squared = decltype(power)::value;
        if (results.window.kind != WindowPost::Kind::peak) {
            store_cuda_kernel<Real, Value, squared>
                <<<grid_blocks(results.window.stored(results.count)), threads, 0, stream>>>(
                    rows, results, target);
        } else if constexpr (squared || std::is_same_v<Value, Real>) {
            const index_t windows = results.window.stored(results.count);
            peak_cuda_kernel<Real, Value, squared>
                <<<static_cast<unsigned>(std::min<index_t>(windows, 1 << 16)), threads, 0,
                   stream>>>(rows, results, static_cast<Real*>(target), positions, begin);
        }
    };
    results.power ? store(std::true_type{}) : store(std::false_type{});
    check(cudaGetLastError(), "storing results");
}

template <class Value>
void store_short_rows(const Value* rows, const RowResults& results, const StorageJob& storage,
                      void* target, cudaStream_t stream) {
    const auto store = [&](auto power) {
        store_short_cuda_kernel<Value, decltype(power)::value>
            <<<grid_blocks(results.window.stored(results.count)), threads, 0, stream>>>(
                rows, results, storage, static_cast<SampleWord*>(target));
    };
    results.power ? store(std::true_type{}) : store(std::false_type{});
    check(cudaGetLastError(), "storing results");
}

#define CONVOLUME_INSTANTIATE(Real)                                                                \
    template void cut_rows(const Real*, const RowCut&, Real*, cudaStream_t);                       \
    template void cut_rows(const Complex<Real>*, const RowCut&, Complex<Real>*, cudaStream_t);     \
    template void scale_spectra(const Complex<double>*, double, Complex<Real>*, index_t,           \
                                cudaStream_t);                                                     \
    template void sum_products(const SignalSpectra<Real>&, const Complex<Real>*, index_t, index_t, \
                               index_t, Complex<Real>*, cudaStream_t);                             \
    template void store_rows<Real>(const Real*, const RowResults&, void*, index_t*, index_t,       \
                                   cudaStream_t);                                                  \
    template void store_rows<Real>(const Complex<Real>*, const RowResults&, void*, index_t*,       \
                                   index_t, cudaStream_t);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
#undef CONVOLUME_INSTANTIATE
template void cut_short_rows(const SampleWord*, SampleStorage, const RowCut&, float*, cudaStream_t);
template void cut_short_rows(const SampleWord*, SampleStorage, const RowCut&, Complex<float>*,
                             cudaStream_t);
template void store_short_rows(const float*, const RowResults&, const StorageJob&, void*,
                               cudaStream_t);
template void store_short_rows(const Complex<float>*, const RowResults&, const StorageJob&, void*,
                               cudaStream_t);
// Filters are transformed in double precision.
template void cut_rows(const float*, const RowCut&, double*, cudaStream_t);
template void cut_rows(const Complex<float>*, const RowCut&, Complex<double>*, cudaStream_t);

}  // namespace convolume::gpu
