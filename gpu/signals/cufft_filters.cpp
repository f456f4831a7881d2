// SPDX-License-Identifier: Apache-2.0
// Overlap-save with segments that cuFFT transforms, and partitioned convolution. Filters too long
// for one segment are divided into partitions. All products that contribute to an output segment
// are summed before its single inverse transform.

#include <algorithm>
#include <map>
#include <mutex>
#include <type_traits>

#include "convolume/cuda/detail/segment_kernels.hpp"
#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/cufft_library.hpp"
#include "gpu/signals/cufft_kernels.hpp"
#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t shortest_segment = 1 << 12, longest_segment = index_t{1} << 26;
// Bytes of a batch's spectra: spectra that fit the cache of a large GPU are transformed faster.
constexpr index_t batch_bytes = index_t{64} << 20;

/// How segments and partitions are laid out. Transforms of n samples give `hop` results each, from
/// position `skip` on. Filters are divided into `partitions` of `hop` taps (one partition: up to n
/// - hop + 1). The spectrum of output segment k is the sum of those of signal segments k, k-1, …
/// times partitions 0, 1, …
struct CufftLayout {
    index_t n = 0, hop = 0, skip = 0, partitions = 1;
    index_t batch = 1;  ///< output segments that are computed together
    double seconds = 0;
};

// Return the complex numbers of a transformed segment, and the bytes of each.
index_t segment_bins(const FilterSpec& spec, index_t n) {
    return spec.complex_data ? n : n / 2 + 1;
}
index_t complex_bytes(const FilterSpec& spec) {
    return convolume::sample_bytes(spec.precision, true);
}

// Returns the predicted seconds for one signal.
double predicted_seconds(const FilterSpec& spec, const CufftLayout& layout, index_t segments,
                         const FilterRates& rates) {
    constexpr GpuFilterTimes times;
    const index_t n = layout.n, bins = segment_bins(spec, n);
    const std::size_t size = n <= 8192 ? 0 : n <= (1 << 20) ? 1 : 2;
    double passes =
        (spec.complex_data ? times.cufft_complex_passes : times.cufft_real_passes)[size];
    if (n % 3 == 0 && n > (1 << 15)) passes *= times.cufft_factor_of_3;
    const auto batches = static_cast<double>(ceil_div(segments, layout.batch));
    const auto filters = static_cast<double>(spec.filters);
    const double segment_bytes =
        static_cast<double>(bins) * static_cast<double>(complex_bytes(spec));
    // Most segments before the first output precede the signal's first sample.
    const double transforms =
        static_cast<double>(segments) * (filters + 1) + (layout.partitions > 1 ? 1 : 0);
    const double traffic = segment_bytes * transforms * (2 * passes + 2);
    const double products = static_cast<double>(segments) * filters *
                            static_cast<double>(layout.partitions) * static_cast<double>(bins) * 4;
    return traffic / rates.memory_bytes_per_s +
           products / (times.cufft_multiply_adds * rates.processors * rates.speed) +
           times.cufft_launch_s * batches * (2 + 3 * filters);
}

std::optional<CufftLayout> layout_of(const FilterSpec& spec, index_t n, bool whole, index_t signals,
                                     index_t outputs, const FilterRates& rates) {
    const index_t before = halo_before(spec), after = halo_after(spec);
    CufftLayout layout;
    layout.n = n;
    layout.hop = whole ? n - (spec.taps - 1 + before) - after : (n + 1 - before - after) / 2;
    if (layout.hop >= 64) layout.hop = layout.hop / 32 * 32;
    if (layout.hop < 1 || layout.hop < n / 64) return std::nullopt;
    if (spec.window.kind == WindowPost::Kind::peak) {
        // Partitions are a hop apart, so they shrink with it.
        layout.hop = layout.hop / spec.window.length * spec.window.length;
        if (layout.hop < 1) return std::nullopt;
    }
    layout.skip = n - layout.hop - after;
    layout.partitions = whole ? 1 : ceil_div(spec.taps, layout.hop);

    const index_t segments = ceil_div(outputs, layout.hop);
    const index_t bins = segment_bins(spec, n);
    layout.batch = std::clamp<index_t>(batch_bytes / (bins * complex_bytes(spec)), 1, segments);
    // Segments before the first output are transformed again for each batch.
    layout.batch = std::min(segments, std::max(layout.batch, 4 * (layout.partitions - 1)));
    layout.seconds =
        static_cast<double>(signals) * predicted_seconds(spec, layout, segments, rates);
    return layout;
}

// Returns the fastest layout that spec.method and spec.segment allow.
std::optional<CufftLayout> cufft_layout(const FilterSpec& spec, index_t signals, index_t outputs,
                                        const FilterRates& rates) {
    std::optional<CufftLayout> best;
    const auto try_length = [&](index_t n) {
        for (const bool whole : {true, false}) {
            const FilterMethod method =
                whole ? FilterMethod::overlap_save : FilterMethod::partitioned;
            if (spec.method != FilterMethod::automatic && spec.method != method) continue;
            const auto layout = layout_of(spec, n, whole, signals, outputs, rates);
            if (!layout ||
                (!whole && layout->partitions == 1 && spec.method == FilterMethod::automatic))
                continue;
            if (!best || layout->seconds < best->seconds) best = layout;
        }
    };
    if (spec.segment != 0) {
        if (spec.segment <= longest_segment && (spec.segment % 2 == 0 || spec.complex_data))
            try_length(spec.segment);
    } else {
        for (index_t n = shortest_segment; n <= longest_segment; n *= 2) {
            try_length(n);
            try_length(n / 2 * 3);
        }
    }
    return best;
}

// Makes a cuFFT plan of `rows` transforms of n samples, `from_pitch` elements apart in the input
// and `to_pitch` in the output. Sample is Real if the samples are real, or Complex<Real>.
template <class Real, class Sample>
CufftPlan row_plan(int direction, long long n, long long rows, long long from_pitch,
                   long long to_pitch) {
    constexpr bool single = std::is_same_v<Real, float>;
    cufftType type = single ? CUFFT_C2C : CUFFT_Z2Z;
    if (std::is_same_v<Sample, Real>)
        type = direction == CUFFT_FORWARD ? (single ? CUFFT_R2C : CUFFT_D2Z)
                                          : (single ? CUFFT_C2R : CUFFT_Z2D);
    return {1, &n, {&from_pitch, from_pitch}, {&to_pitch, to_pitch}, type, rows};
}

template <class Real, class Sample>
class CufftFilters : public DeviceFilters {
  public:
    static constexpr bool complex_data = !std::is_same_v<Sample, Real>;

    CufftFilters(const FilterSpec& spec, const void* taps, const FilterRates& rates,
                 DevicePool& pool, cudaStream_t stream)
        : spec_(spec), rates_(rates) {
        const CufftLayout layout = layout_for(1, 1);
        n_ = layout.n;
        hop_ = layout.hop;
        skip_ = layout.skip;
        partitions_ = layout.partitions;
        bins_ = segment_bins(spec, n_);
        result_pitch_ = complex_data ? n_ : 2 * bins_;
        bytes_ = checked_multiply(checked_multiply(spec.filters, partitions_), bins_) *
                 index_t{sizeof(Complex<Real>)};
        spectra_ = pool.take(bytes_, "the spectra of filters");
        transform_filters(taps, pool, stream);
    }

    index_t bytes() const override { return bytes_; }
    index_t outputs_step() const override { return hop_; }

    index_t workspace_bytes(index_t signals, index_t outputs) const override {
        return workspace_for(layout_for(signals, outputs).batch, nullptr).total_bytes;
    }

    void run(const SignalView& signal, const FilterResult& result, char* workspace,
             cudaStream_t stream) const override {
        const index_t outputs = result.range.count();
        const index_t batch = layout_for(signal.signals, outputs).batch;
        const CufftWorkspace buffers = workspace_for(batch, workspace);
        const auto inverse = inverse_plan(batch);
        for (index_t s = 0; s < signal.signals; ++s) {
            const char* const source =
                static_cast<const char*>(signal.data) +
                s * signal.stride * FilterSpec::stored_bytes(signal.storage, spec_.sample_type());
            for (index_t first = 0; first * hop_ < outputs; first += batch) {
                const SignalSpectra<Real> signal_spectra = transform_signal(
                    source, signal, result.range.begin + (first - (partitions_ - 1)) * hop_ - skip_,
                    batch + partitions_ - 1, buffers, stream);
                RowResults results;
                results.hop = hop_;
                results.skip = skip_;
                results.pitch = result_pitch_;
                results.before = first * hop_;
                results.count = std::min(batch * hop_, outputs - results.before);
                results.power = spec_.power;
                results.window = spec_.window;
                for (index_t f = 0; f < spec_.filters; ++f) {
                    sum_products(signal_spectra, filter_spectra() + f * partitions_ * bins_, bins_,
                                 partitions_, batch, reinterpret_cast<Complex<Real>*>(buffers.rows),
                                 stream);
                    inverse->execute(buffers.rows, buffers.rows, buffers.area, CUFFT_INVERSE,
                                     stream);
                    store(buffers, results, result, s, f, stream);
                }
            }
        }
    }

  private:
    /// The workspace of a run: the samples of a batch, their spectra, the results (rows), and an
    /// area for transforms and functions.
    struct CufftWorkspace {
        Sample* samples;
        Complex<Real>* spectra;
        Sample* rows;
        char* area;
        index_t area_bytes, total_bytes;
    };

    CufftLayout layout_for(index_t signals, index_t outputs) const {
        return *cufft_layout(spec_, signals, outputs, rates_);
    }

    CufftWorkspace workspace_for(index_t batch, char* workspace) const {
        const index_t rows = batch + partitions_ - 1;
        const index_t row_bytes = bins_ * index_t{sizeof(Complex<Real>)};
        index_t total = 0;
        const auto next = [&](index_t bytes) {
            char* const at = workspace ? workspace + total : nullptr;
            total += round_up(bytes, DeviceMemory::alignment);
            return at;
        };
        const index_t area_bytes =
            round_up(std::max({inverse_plan(batch)->work_bytes(), forward_plan(rows)->work_bytes(),
                               spec_.function ? batch * row_bytes : index_t{1}}),
                     DeviceMemory::alignment);
        CufftWorkspace buffers;
        buffers.samples =
            reinterpret_cast<Sample*>(next(((rows - 1) * hop_ + n_) * index_t{sizeof(Sample)}));
        buffers.spectra = reinterpret_cast<Complex<Real>*>(next(checked_multiply(rows, row_bytes)));
        buffers.rows = reinterpret_cast<Sample*>(next(checked_multiply(batch, row_bytes)));
        buffers.area = next(area_bytes);
        buffers.area_bytes = area_bytes;
        buffers.total_bytes = total;
        return buffers;
    }
    Complex<Real>* filter_spectra() const {
        return reinterpret_cast<Complex<Real>*>(spectra_.get());
    }

    /// Transforms the filters one by one, in double precision: their errors would affect every
    /// result.
    void transform_filters(const void* taps, DevicePool& pool, cudaStream_t stream) const {
        using Wide = std::conditional_t<complex_data, Complex<double>, double>;
        const index_t taps_bytes =
            checked_multiply(spec_.filters, spec_.taps) * sample_bytes(spec_);
        const DevicePool::BorrowedMemory device_taps = pool.take(taps_bytes, "filters");
        copy_to_device(device_taps.get(), taps, taps_bytes, stream);
        const index_t pitch = complex_data ? n_ : 2 * bins_;
        const DevicePool::BorrowedMemory rows =
            pool.take(checked_multiply(partitions_, bins_) * index_t{sizeof(Complex<double>)},
                      "transforming filters");
        const auto cufft_plan =
            row_plan<double, Wide>(CUFFT_FORWARD, n_, partitions_, pitch, bins_);
        const DevicePool::BorrowedMemory area =
            pool.take(std::max<index_t>(1, cufft_plan.work_bytes()), "transforming filters");
        for (index_t f = 0; f < spec_.filters; ++f) {
            RowCut cut;
            cut.available = spec_.taps;
            cut.hop = hop_;
            cut.used = partitions_ == 1 ? spec_.taps : hop_;
            cut.rows = partitions_;
            cut.pitch = pitch;
            cut_rows(reinterpret_cast<const Sample*>(device_taps.get()) + f * spec_.taps, cut,
                     reinterpret_cast<Wide*>(rows.get()), stream);
            cufft_plan.execute(rows.get(), rows.get(), area.get(), CUFFT_FORWARD, stream);
            scale_spectra(reinterpret_cast<const Complex<double>*>(rows.get()),
                          1 / static_cast<double>(n_), filter_spectra() + f * partitions_ * bins_,
                          partitions_ * bins_, stream);
        }
        check(cudaStreamSynchronize(stream), "transforming filters");
    }

    /// Computes the spectra of those of `rows` segments that overlap the signal. The first segment
    /// begins at sample `begin`.
    SignalSpectra<Real> transform_signal(const void* source, const SignalView& signal,
                                         index_t begin, index_t rows, const CufftWorkspace& buffers,
                                         cudaStream_t stream) const {
        const auto clamped = [&](index_t row) { return std::clamp<index_t>(row, 0, rows); };
        const auto rows_until = [&](index_t sample) {  // rows that begin before the sample
            return sample <= begin ? 0 : ceil_div(sample - begin, hop_);
        };
        index_t first = clamped(rows_until(signal.first - n_ + 1));
        index_t end = std::max(first, clamped(rows_until(signal.first + signal.count)));
        if (signal.count == 0 || first == end) return {buffers.spectra, 0, 0};
        if (forward_plan(end - first)->work_bytes() > buffers.area_bytes) {
            first = 0;  // the workspace has room for this cuFFT plan
            end = rows;
        }
        RowCut cut;  // cuts a single row, in which segments overlap
        cut.first = signal.first;
        cut.available = signal.count;
        cut.begin = begin + first * hop_;
        cut.used = cut.pitch = (end - first - 1) * hop_ + n_;
        cut_signal(source, signal.storage, cut, buffers.samples, stream);
        forward_plan(end - first)
            ->execute(buffers.samples, buffers.spectra, buffers.area, CUFFT_FORWARD, stream);
        return {buffers.spectra, first, end - first};
    }

    static void cut_signal(const void* source, SampleStorage storage, const RowCut& cut,
                           Sample* samples, cudaStream_t stream) {
        if constexpr (std::is_same_v<Real, float>) {
            if (storage != SampleStorage::plain)
                return cut_short_rows(static_cast<const SampleWord*>(source), storage, cut, samples,
                                      stream);
        }
        cut_rows(static_cast<const Sample*>(source), cut, samples, stream);
    }

    template <class Value>
    void store_values(const Value* rows, const RowResults& results, const FilterResult& result,
                      index_t to, cudaStream_t stream) const {
        char* const target = static_cast<char*>(result.data) + to * spec_.result_bytes();
        if constexpr (std::is_same_v<Real, float>) {
            if (spec_.result_storage != SampleStorage::plain)
                return store_short_rows(rows, results, storage_job({}, result, spec_), target,
                                        stream);
        }
        index_t* const positions = result.peak_positions ? result.peak_positions + to : nullptr;
        store_rows<Real>(rows, results, target, positions, result.range.begin, stream);
    }

    void store(const CufftWorkspace& buffers, RowResults results, const FilterResult& result,
               index_t s, index_t f, cudaStream_t stream) const {
        const index_t to = s * result.signal_stride + f * result.filter_stride;
        if (!spec_.function) return store_values(buffers.rows, results, result, to, stream);

        // The function's results are packed into the work area and stored from there.
        const auto* const function_kernels =
            static_cast<const FunctionCudaKernels*>(spec_.function->device_kernels());
        for (index_t row = 0; row * hop_ < results.count; ++row)
            check(function_kernels->apply(
                      *function_kernels, buffers.rows + row * result_pitch_ + skip_,
                      buffers.area + row * hop_ * convolume::sample_bytes(spec_.result_type()),
                      hop_, stream),
                  "a caller's function");
        results.skip = 0;
        results.pitch = hop_;
        if (is_complex(spec_.result_type()))
            store_values(reinterpret_cast<const Complex<Real>*>(buffers.area), results, result, to,
                         stream);
        else
            store_values(reinterpret_cast<const Real*>(buffers.area), results, result, to, stream);
    }

    /// cuFFT plans by number of rows, kept for the few sizes of batches in use: at the ends of
    /// signals and between them.
    using PlansByRows = std::map<index_t, std::shared_ptr<const CufftPlan>>;
    template <class Make>
    std::shared_ptr<const CufftPlan> find_plan(PlansByRows& plans, index_t rows,
                                               const Make& make) const {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<const CufftPlan>& cufft_plan = plans[rows];
        if (cufft_plan) return cufft_plan;
        cufft_plan = std::make_shared<const CufftPlan>(make());
        const auto new_plan = cufft_plan;
        if (plans.size() > 8) {
            plans.clear();
            plans[rows] = new_plan;
        }
        return new_plan;
    }
    std::shared_ptr<const CufftPlan> forward_plan(index_t rows) const {
        return find_plan(forward_plans_, rows, [&] {
            return row_plan<Real, Sample>(CUFFT_FORWARD, n_, rows, hop_, bins_);
        });
    }
    std::shared_ptr<const CufftPlan> inverse_plan(index_t rows) const {
        return find_plan(inverse_plans_, rows, [&] {
            return row_plan<Real, Sample>(CUFFT_INVERSE, n_, rows, bins_, result_pitch_);
        });
    }

    FilterSpec spec_;
    FilterRates rates_;
    index_t n_ = 0, hop_ = 0, skip_ = 0, partitions_ = 1, bins_ = 0, result_pitch_ = 0;
    DevicePool::BorrowedMemory spectra_;
    index_t bytes_ = 0;
    mutable std::mutex mutex_;
    mutable PlansByRows forward_plans_, inverse_plans_;
};

}  // namespace

std::optional<FilterCost> estimate_cufft(const FilterSpec& spec, index_t signals, index_t outputs,
                                         const FilterRates& rates) {
    if (spec.function && spec.function->device_kernels() == nullptr) return std::nullopt;
    const auto layout = cufft_layout(spec, signals, outputs, rates);
    if (!layout) return std::nullopt;
    FilterCost cost;
    cost.method = layout->partitions > 1 || spec.method == FilterMethod::partitioned
                      ? FilterMethod::partitioned
                      : FilterMethod::overlap_save;
    cost.segment = layout->n;
    cost.seconds = layout->seconds;
    const index_t segment_bytes = segment_bins(spec, layout->n) * complex_bytes(spec);
    cost.work_bytes = checked_multiply(
        segment_bytes,
        checked_add(checked_multiply(spec.filters, layout->partitions),
                    // Samples, their spectra, results and cuFFT's work area.
                    3 * (layout->batch + layout->partitions - 1) + 2 * layout->batch));
    cost.description = cost.method == FilterMethod::partitioned
                           ? message("partitioned convolution, ", layout->partitions,
                                     " partitions, segments of ", layout->n)
                           : message("overlap-save, segments of ", layout->n, " by cuFFT");
    return cost;
}

std::unique_ptr<DeviceFilters> make_cufft_filters(const FilterSpec& spec, const void* taps,
                                                  const FilterRates& rates, DevicePool& pool,
                                                  cudaStream_t stream) {
    const auto make = [&](auto real) -> std::unique_ptr<DeviceFilters> {
        using Real = decltype(real);
        if (spec.complex_data)
            return std::make_unique<CufftFilters<Real, Complex<Real>>>(spec, taps, rates, pool,
                                                                       stream);
        return std::make_unique<CufftFilters<Real, Real>>(spec, taps, rates, pool, stream);
    };
    return spec.precision == Precision::float32 ? make(float{}) : make(double{});
}

}  // namespace convolume::gpu
