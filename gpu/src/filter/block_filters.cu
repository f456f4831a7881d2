// Overlap-save with segments that cuFFT transforms, and partitioned convolution: filters too long
// for one segment are cut into parts, and the products of all parts that meet in an output block
// are summed before its one inverse transform.

#include <cufftXt.h>

#include <algorithm>

#include "check.hpp"
#include "filter/block_layout.hpp"
#include "filter/segment_kernels.hpp"
#include "fft/complex.hpp"

namespace convolume::gpu {

namespace {

constexpr int threads = 256;

unsigned blocks_for(index_t items) {
    return static_cast<unsigned>(std::clamp<index_t>(ceil_div(items, threads), 1, 1 << 16));
}

__device__ inline index_t first_item() {
    return blockIdx.x * index_t{blockDim.x} + threadIdx.x;
}
__device__ inline index_t item_step() {
    return index_t{gridDim.x} * blockDim.x;
}

/// A row of `n` samples, `pitch` apart from the next.
struct Rows {
    index_t count, n, pitch;
};

/// Row r holds samples from `begin + r·hop` on, zero where there are none; times `scale`, and only
/// the first `used` of a row.
template <class Real, class Sample>
__global__ void gather_rows(const Sample* source, index_t first, index_t available, index_t begin,
                            index_t hop, index_t used, Real scale, Sample* target, Rows rows) {
    for (index_t i = first_item(); i < rows.count * rows.pitch; i += item_step()) {
        const index_t row = i / rows.pitch, x = i - row * rows.pitch;
        const index_t at = begin + row * hop + x - first;
        Sample value{};
        if (x < used && at >= 0 && at < available) value = scale * source[at];
        target[i] = value;
    }
}

/// sums[k][b] = Σ_j signal[k + parts - 1 - j][b] · filter[j][b], for a few k at once, each product's
/// factors read once for all.
constexpr int outputs_at_once = 4;

template <class Real>
__global__ void sum_products(const Complex<Real>* signal, const Complex<Real>* filter,
                             index_t bins, index_t parts, index_t outputs, Complex<Real>* sums) {
    const index_t groups = (outputs + outputs_at_once - 1) / outputs_at_once;
    for (index_t i = first_item(); i < groups * bins; i += item_step()) {
        const index_t group = i / bins, bin = i - group * bins;
        const index_t k = group * outputs_at_once;
        Complex<Real> sum[outputs_at_once] = {}, window[outputs_at_once] = {};
        // window[o] is signal[k + o + parts - 1 - j]
        const auto block = [&](index_t b) {
            return b < outputs + parts - 1 ? signal[b * bins + bin] : Complex<Real>{};
        };
        for (int o = 1; o < outputs_at_once; ++o) window[o - 1] = block(k + o + parts - 1);
        for (index_t j = 0; j < parts; ++j) {
            for (int o = outputs_at_once - 1; o > 0; --o) window[o] = window[o - 1];
            window[0] = block(k + parts - 1 - j);
            const Complex<Real> h = filter[j * bins + bin];
            for (int o = 0; o < outputs_at_once; ++o) sum[o] = sum[o] + window[o] * h;
        }
        for (int o = 0; o < outputs_at_once; ++o)
            if (k + o < outputs) sums[(k + o) * bins + bin] = sum[o];
    }
}

/// |v|² in place of v; real results are packed into the front of their row.
template <class Real, class Sample>
__device__ Real power_of(Sample v) {
    if constexpr (sizeof(Sample) == sizeof(Real))
        return v * v;
    else
        return v.re * v.re + v.im * v.im;
}

/// What is stored of rows of results: `count` results in all, `hop` in a row from `skip` on.
struct RowResults {
    index_t hop, skip, pitch, count;
    index_t before;  ///< results since the range began
    index_t window;  ///< 1: every one
};

template <class Real, class Sample, class Result, bool power>
__global__ void store_rows(const Sample* rows, RowResults results, Result* target) {
    const index_t phase = results.before % results.window;
    const index_t first = phase == 0 ? 0 : results.window - phase;
    const index_t stored_before = (results.before + first) / results.window;
    for (index_t i = first_item(); first + i * results.window < results.count; i += item_step()) {
        const index_t n = first + i * results.window, row = n / results.hop;
        const Sample v = rows[row * results.pitch + results.skip + n - row * results.hop];
        if constexpr (power)
            target[stored_before + i] = power_of<Real>(v);
        else
            target[stored_before + i] = v;
    }
}

/// One block of threads a window, whose results are in one row.
template <class Real, class Sample, bool power>
__global__ void pick_rows(const Sample* rows, RowResults results, index_t first_result,
                          Real* target, index_t* positions) {
    __shared__ Real values[threads];
    __shared__ index_t places[threads];
    const index_t windows = (results.count + results.window - 1) / results.window;
    for (index_t w = blockIdx.x; w < windows; w += gridDim.x) {
        const index_t begin = w * results.window;
        const index_t end =
            begin + results.window < results.count ? begin + results.window : results.count;
        const auto value_at = [&](index_t n) {
            const index_t row = n / results.hop;
            const Sample v = rows[row * results.pitch + results.skip + n - row * results.hop];
            if constexpr (power || !std::is_same_v<Sample, Real>)
                return power_of<Real>(v);
            else
                return v;
        };
        Real best = value_at(begin);
        index_t place = begin;
        const auto consider = [&](Real value, index_t at) {
            if (value > best || (value == best && at < place) ||
                (best != best && value == value)) {
                best = value;
                place = at;
            }
        };
        for (index_t n = begin + threadIdx.x; n < end; n += threads) consider(value_at(n), n);
        values[threadIdx.x] = best;
        places[threadIdx.x] = place;
        __syncthreads();
        for (int half = threads / 2; half > 0; half /= 2) {
            if (static_cast<int>(threadIdx.x) < half) {
                consider(values[threadIdx.x + half], places[threadIdx.x + half]);
                values[threadIdx.x] = best;
                places[threadIdx.x] = place;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            const index_t to = results.before / results.window + w;
            target[to] = best;
            if (positions != nullptr) positions[to] = first_result + place;
        }
        __syncthreads();
    }
}

/// A cuFFT plan for `batch` rows in place, with a work area of the caller's.
class RowPlan {
  public:
    RowPlan(index_t n, index_t batch, cufftType type, index_t in_pitch, index_t out_pitch) {
        long long length = n;
        long long in[1] = {in_pitch}, out[1] = {out_pitch};
        std::size_t bytes = 0;
        check(cufftCreate(&handle_), "a cuFFT plan");
        try {
            check(cufftSetAutoAllocation(handle_, 0), "a cuFFT plan");
            check(cufftMakePlanMany64(handle_, 1, &length, in, 1, in_pitch, out, 1, out_pitch, type,
                                      batch, &bytes),
                  "a cuFFT plan");
        } catch (...) {
            static_cast<void>(cufftDestroy(handle_));
            throw;
        }
        work_bytes_ = static_cast<index_t>(bytes);
    }
    ~RowPlan() { static_cast<void>(cufftDestroy(handle_)); }
    RowPlan(const RowPlan&) = delete;
    RowPlan& operator=(const RowPlan&) = delete;

    index_t work_bytes() const { return work_bytes_; }
    void execute(void* data, char* work, int direction, cudaStream_t stream) const {
        check(cufftSetStream(handle_, stream), "a cuFFT plan");
        check(cufftSetWorkArea(handle_, work), "a cuFFT plan");
        check(cufftXtExec(handle_, data, data, direction), "a transform by cuFFT");
    }

  private:
    cufftHandle handle_ = 0;
    index_t work_bytes_ = 0;
};

template <class Real, class Sample>
class BlockFilters : public DeviceFilters {
  public:
    static constexpr bool complex_data = !std::is_same_v<Sample, Real>;

    BlockFilters(const FilterWork& work, const void* taps, const FilterRates& rates,
                 DevicePool& pool, cudaStream_t stream)
        : work_(work), rates_(rates) {
        const auto layout = layout_for(1, 1 << 20);
        n_ = layout.n;
        parts_ = layout.parts;
        bins_ = block_bins(work, n_);
        pitch_ = complex_data ? n_ : 2 * bins_;

        const index_t taps_bytes = checked_multiply(work.filters, work.taps) * sample_bytes(work);
        const index_t rows = checked_multiply(work.filters, parts_);
        bytes_ = checked_multiply(rows, bins_) * index_t{sizeof(Complex<Real>)};
        spectra_ = pool.take(bytes_, "the spectra of filters");
        const DevicePool::Lease on_device = pool.take(taps_bytes, "filters");
        copy_to_device(on_device.get(), taps, taps_bytes, stream);
        const index_t part_taps = parts_ == 1 ? work.taps : layout.hop;
        for (index_t f = 0; f < work.filters; ++f) {
            const auto* const filter =
                reinterpret_cast<const Sample*>(on_device.get()) + f * work.taps;
            const Rows shape{parts_, n_, pitch_};
            gather_rows<Real, Sample><<<blocks_for(parts_ * pitch_), threads, 0, stream>>>(
                filter, 0, work.taps, 0, layout.hop, part_taps, Real(1) / static_cast<Real>(n_),
                reinterpret_cast<Sample*>(spectra_.get()) + f * parts_ * pitch_, shape);
            check(cudaGetLastError(), "cutting filters into parts");
        }
        const RowPlan plan = forward_plan(rows);
        const DevicePool::Lease area = pool.take(plan.work_bytes(), "transforming filters");
        plan.execute(spectra_.get(), area.get(), CUFFT_FORWARD, stream);
        check(cudaStreamSynchronize(stream), "transforming filters");
    }

    index_t bytes() const override { return bytes_; }
    index_t outputs_step() const override { return layout_for(1, 1 << 20).hop; }

    index_t workspace_bytes(index_t signals, index_t outputs) const override {
        return memory_for(layout_for(signals, outputs)).total;
    }

    void run(const SignalView& signal, const FilterResult& result, char* workspace,
             cudaStream_t stream) const override {
        const BlockLayout layout = layout_for(signal.signals, result.range.count());
        const Memory memory = memory_for(layout);
        const std::shared_ptr<const Plans> plans = plans_for(layout.batch);
        auto* const signal_rows = reinterpret_cast<Sample*>(workspace);
        auto* const result_rows = reinterpret_cast<Sample*>(workspace + memory.results_at);
        char* const area = workspace + memory.area_at;
        const index_t outputs = result.range.count();
        const index_t blocks = ceil_div(outputs, layout.hop);
        for (index_t s = 0; s < signal.signals; ++s) {
            const auto* const source =
                static_cast<const Sample*>(signal.data) + s * signal.stride;
            for (index_t first = 0; first < blocks; first += layout.batch) {
                const index_t here = std::min(layout.batch, blocks - first);
                const index_t rows = layout.batch + parts_ - 1;
                const index_t begin =
                    result.range.begin + (first - (parts_ - 1)) * layout.hop - layout.skip;
                gather_rows<Real, Sample><<<blocks_for(rows * pitch_), threads, 0, stream>>>(
                    source, signal.first, signal.count, begin, layout.hop, n_, Real(1),
                    signal_rows, Rows{rows, n_, pitch_});
                check(cudaGetLastError(), "cutting signals into blocks");
                plans->forward.execute(signal_rows, area, CUFFT_FORWARD, stream);
                for (index_t f = 0; f < work_.filters; ++f) {
                    const index_t groups = ceil_div(layout.batch, outputs_at_once);
                    sum_products<Real><<<blocks_for(groups * bins_), threads, 0, stream>>>(
                        reinterpret_cast<const Complex<Real>*>(signal_rows),
                        reinterpret_cast<const Complex<Real>*>(spectra_.get()) +
                            f * parts_ * bins_,
                        bins_, parts_, layout.batch,
                        reinterpret_cast<Complex<Real>*>(result_rows));
                    check(cudaGetLastError(), "multiplying spectra");
                    plans->inverse.execute(result_rows, area, CUFFT_INVERSE, stream);
                    RowResults rule;
                    rule.hop = layout.hop;
                    rule.skip = layout.skip;
                    rule.pitch = pitch_;
                    rule.before = first * layout.hop;
                    rule.count = std::min(here * layout.hop, outputs - rule.before);
                    rule.window = work_.window.kind == WindowPost::Kind::none
                                      ? 1
                                      : work_.window.length;
                    store(result_rows, signal_rows, area, rule, result, s, f, stream);
                }
            }
        }
    }

  private:
    struct Plans {
        RowPlan forward, inverse;
    };
    struct Memory {
        index_t results_at, area_at, total;
    };

    BlockLayout layout_for(index_t signals, index_t outputs) const {
        return *block_layout(work_, signals, outputs, rates_);
    }

    static constexpr bool single = std::is_same_v<Real, float>;
    RowPlan forward_plan(index_t batch) const {
        if constexpr (complex_data)
            return RowPlan(n_, batch, single ? CUFFT_C2C : CUFFT_Z2Z, n_, n_);
        else
            return RowPlan(n_, batch, single ? CUFFT_R2C : CUFFT_D2Z, pitch_, bins_);
    }
    RowPlan inverse_plan(index_t batch) const {
        if constexpr (complex_data)
            return RowPlan(n_, batch, single ? CUFFT_C2C : CUFFT_Z2Z, n_, n_);
        else
            return RowPlan(n_, batch, single ? CUFFT_C2R : CUFFT_Z2D, bins_, pitch_);
    }

    std::shared_ptr<const Plans> plans_for(index_t batch) const {
        const std::lock_guard lock(mutex_);
        if (plans_batch_ != batch) {
            plans_ = std::shared_ptr<const Plans>(
                new Plans{forward_plan(batch + parts_ - 1), inverse_plan(batch)});
            plans_batch_ = batch;
        }
        return plans_;
    }

    Memory memory_for(const BlockLayout& layout) const {
        const auto aligned = [](index_t bytes) { return round_up(bytes, DeviceMemory::alignment); };
        const index_t row_bytes = bins_ * index_t{sizeof(Complex<Real>)};
        const std::shared_ptr<const Plans> plans = plans_for(layout.batch);
        Memory memory;
        memory.results_at = aligned(checked_multiply(layout.batch + parts_ - 1, row_bytes));
        memory.area_at =
            memory.results_at + aligned(checked_multiply(layout.batch, row_bytes));
        memory.total = memory.area_at +
                       aligned(std::max({plans->forward.work_bytes(),
                                         plans->inverse.work_bytes(),
                                         work_.function ? layout.batch * row_bytes : index_t{1}}));
        return memory;
    }

    void store(const Sample* rows, const Sample*, char* area, RowResults rule,
               const FilterResult& result, index_t s, index_t f, cudaStream_t stream) const {
        const index_t to = s * result.signal_stride + f * result.filter_stride;
        const bool real_results = !is_complex(work_.result_type());
        if (work_.function) {
            // The function's results, row by row where the samples stood, are stored from there.
            const auto* const own =
                static_cast<const FunctionKernels*>(work_.function->device_kernels());
            const index_t here = ceil_div(rule.count, rule.hop);
            const index_t bytes = result_bytes(work_);
            for (index_t row = 0; row < here; ++row)
                own->apply(*own, rows + row * rule.pitch + rule.skip,
                           area + row * rule.hop * bytes, rule.hop, stream);
            check(cudaGetLastError(), "a caller's function");
            rule.skip = 0;
            rule.pitch = rule.hop;
            if (!real_results)
                return store_values<Sample, false>(reinterpret_cast<const Sample*>(area), rule,
                                                   result, to, stream);
            return store_values<Real, false>(reinterpret_cast<const Real*>(area), rule, result, to,
                                             stream);
        }
        if (work_.power) return store_values<Sample, true>(rows, rule, result, to, stream);
        store_values<Sample, false>(rows, rule, result, to, stream);
    }

    template <class Value, bool power>
    void store_values(const Value* rows, const RowResults& rule, const FilterResult& result,
                      index_t to, cudaStream_t stream) const {
        if (work_.window.kind == WindowPost::Kind::peak) {
            const index_t windows = ceil_div(rule.count, rule.window);
            pick_rows<Real, Value, power>
                <<<static_cast<unsigned>(std::min<index_t>(windows, 1 << 16)), threads, 0,
                   stream>>>(rows, rule, result.range.begin + rule.before,
                             static_cast<Real*>(result.data) + to,
                             result.peak_positions ? result.peak_positions + to : nullptr);
        } else {
            using Result = std::conditional_t<power, Real, Value>;
            store_rows<Real, Value, Result, power>
                <<<blocks_for(ceil_div(rule.count, rule.window)), threads, 0, stream>>>(
                    rows, rule, static_cast<Result*>(result.data) + to);
        }
        check(cudaGetLastError(), "storing results");
    }

    FilterWork work_;
    FilterRates rates_;
    index_t n_ = 0, parts_ = 1, bins_ = 0, pitch_ = 0;
    DevicePool::Lease spectra_;
    index_t bytes_ = 0;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Plans> plans_;
    mutable index_t plans_batch_ = 0;
};

}  // namespace

std::unique_ptr<DeviceFilters> make_block_filters(const FilterWork& work, const void* taps,
                                                  const FilterRates& rates, DevicePool& pool,
                                                  cudaStream_t stream) {
    const auto make = [&](auto real) -> std::unique_ptr<DeviceFilters> {
        using Real = decltype(real);
        if (work.complex_data)
            return std::make_unique<BlockFilters<Real, Complex<Real>>>(work, taps, rates, pool,
                                                                       stream);
        return std::make_unique<BlockFilters<Real, Real>>(work, taps, rates, pool, stream);
    };
    return work.precision == Precision::float32 ? make(float{}) : make(double{});
}

}  // namespace convolume::gpu
