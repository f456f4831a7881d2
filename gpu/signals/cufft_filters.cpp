// SPDX-License-Identifier: Apache-2.0
// Overlap-save with segments that cuFFT transforms, and partitioned convolution: filters too long
// for one segment are cut into partitions, and the products of all partitions that meet in an
// output segment are summed before its one inverse transform.

#include <algorithm>
#include <map>
#include <mutex>

#include "convolume/cuda/detail/segment_kernels.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/signals/cufft_kernels.hpp"
#include "gpu/signals/cufft_layout.hpp"
#include "gpu/signals/row_plan.hpp"

namespace convolume::gpu {

namespace {

index_t aligned(index_t bytes) {
    return round_up(bytes, DeviceMemory::alignment);
}

template <class Real, class Sample>
class CufftFilters : public DeviceFilters {
  public:
    static constexpr bool complex_data = !std::is_same_v<Sample, Real>;

    CufftFilters(const FilterWork& work, const void* taps, const FilterRates& rates,
                 DevicePool& pool, cudaStream_t stream)
        : work_(work), rates_(rates) {
        const CufftLayout layout = layout_for(1, 1);
        n_ = layout.n;
        hop_ = layout.hop;
        skip_ = layout.skip;
        partitions_ = layout.partitions;
        bins_ = segment_bins(work, n_);
        result_pitch_ = complex_data ? n_ : 2 * bins_;
        bytes_ = checked_multiply(checked_multiply(work.filters, partitions_), bins_) *
                 index_t{sizeof(Complex<Real>)};
        spectra_ = pool.take(bytes_, "the spectra of filters");
        transform_filters(taps, pool, stream);
    }

    index_t bytes() const override { return bytes_; }
    index_t outputs_step() const override { return hop_; }

    index_t workspace_bytes(index_t signals, index_t outputs) const override {
        return memory_for(layout_for(signals, outputs).batch).total;
    }

    void run(const SignalView& signal, const FilterResult& result, char* workspace,
             cudaStream_t stream) const override {
        const index_t outputs = result.range.count();
        const index_t batch = layout_for(signal.signals, outputs).batch;
        const Memory memory = memory_for(batch);
        auto* const padded = reinterpret_cast<Sample*>(workspace);
        auto* const spectra = reinterpret_cast<Complex<Real>*>(workspace + memory.spectra_at);
        auto* const rows = reinterpret_cast<Sample*>(workspace + memory.results_at);
        char* const area = workspace + memory.area_at;
        const auto inverse = inverse_plan(batch);
        for (index_t s = 0; s < signal.signals; ++s) {
            const auto* const source = static_cast<const Sample*>(signal.data) + s * signal.stride;
            for (index_t first = 0; first * hop_ < outputs; first += batch) {
                const SignalSpectra<Real> there = transform_signal(
                    source, signal, result.range.begin + (first - (partitions_ - 1)) * hop_ - skip_,
                    batch + partitions_ - 1, padded, spectra, area, memory.area_bytes, stream);
                RowResults results;
                results.hop = hop_;
                results.skip = skip_;
                results.pitch = result_pitch_;
                results.before = first * hop_;
                results.count = std::min(batch * hop_, outputs - results.before);
                results.power = work_.power;
                results.window = work_.window;
                for (index_t f = 0; f < work_.filters; ++f) {
                    sum_products(there,
                                 reinterpret_cast<const Complex<Real>*>(spectra_.get()) +
                                     f * partitions_ * bins_,
                                 bins_, partitions_, batch, reinterpret_cast<Complex<Real>*>(rows),
                                 stream);
                    inverse->execute(rows, rows, area, stream);
                    store(rows, area, results, result, s, f, stream);
                }
            }
        }
    }

  private:
    /// In a workspace: the samples of a batch, their spectra, its results, and what transforms and
    /// functions need beside.
    struct Memory {
        index_t spectra_at, results_at, area_at, area_bytes, total;
    };

    CufftLayout layout_for(index_t signals, index_t outputs) const {
        return *cufft_layout(work_, signals, outputs, rates_);
    }

    Memory memory_for(index_t batch) const {
        const index_t rows = batch + partitions_ - 1;
        const index_t row_bytes = bins_ * index_t{sizeof(Complex<Real>)};
        Memory memory;
        memory.spectra_at = aligned(((rows - 1) * hop_ + n_) * index_t{sizeof(Sample)});
        memory.results_at = memory.spectra_at + aligned(checked_multiply(rows, row_bytes));
        memory.area_at = memory.results_at + aligned(checked_multiply(batch, row_bytes));
        memory.area_bytes =
            aligned(std::max({inverse_plan(batch)->work_bytes(), forward_plan(rows)->work_bytes(),
                              work_.function ? batch * row_bytes : index_t{1}}));
        memory.total = memory.area_at + memory.area_bytes;
        return memory;
    }

    /// In double precision, filter by filter: their errors would be in every result.
    void transform_filters(const void* taps, DevicePool& pool, cudaStream_t stream) const {
        using Wide = std::conditional_t<complex_data, Complex<double>, double>;
        const index_t taps_bytes =
            checked_multiply(work_.filters, work_.taps) * sample_bytes(work_);
        const DevicePool::Lease on_device = pool.take(taps_bytes, "filters");
        copy_to_device(on_device.get(), taps, taps_bytes, stream);
        const index_t pitch = complex_data ? n_ : 2 * bins_;
        const DevicePool::Lease rows =
            pool.take(checked_multiply(partitions_, bins_) * index_t{sizeof(Complex<double>)},
                      "transforming filters");
        const auto plan =
            RowPlan::make<double, Wide>(RowDirection::forward, n_, partitions_, pitch, bins_);
        const DevicePool::Lease area =
            pool.take(std::max<index_t>(1, plan.work_bytes()), "transforming filters");
        for (index_t f = 0; f < work_.filters; ++f) {
            cut_rows(reinterpret_cast<const Sample*>(on_device.get()) + f * work_.taps, 0,
                     work_.taps, 0, hop_, partitions_ == 1 ? work_.taps : hop_,
                     reinterpret_cast<Wide*>(rows.get()), partitions_, pitch, stream);
            plan.execute(rows.get(), rows.get(), area.get(), stream);
            scale_spectra(
                reinterpret_cast<const Complex<double>*>(rows.get()), 1 / static_cast<double>(n_),
                reinterpret_cast<Complex<Real>*>(spectra_.get()) + f * partitions_ * bins_,
                partitions_ * bins_, stream);
        }
        check(cudaStreamSynchronize(stream), "transforming filters");
    }

    /// The spectra of `rows` segments, the first of which begins at sample `begin`: of those that
    /// meet the signal.
    SignalSpectra<Real> transform_signal(const Sample* source, const SignalView& signal,
                                         index_t begin, index_t rows, Sample* padded,
                                         Complex<Real>* spectra, char* area, index_t area_bytes,
                                         cudaStream_t stream) const {
        const auto clamped = [&](index_t row) { return std::clamp<index_t>(row, 0, rows); };
        const auto rows_until = [&](index_t sample) {  // that begin before it
            return sample <= begin ? 0 : ceil_div(sample - begin, hop_);
        };
        index_t first = clamped(rows_until(signal.first - n_ + 1));
        index_t end = std::max(first, clamped(rows_until(signal.first + signal.count)));
        if (signal.count == 0 || first == end) return {spectra, 0, 0};
        if (forward_plan(end - first)->work_bytes() > area_bytes) {
            first = 0;  // the plan that there is room for
            end = rows;
        }
        const index_t samples = (end - first - 1) * hop_ + n_;
        cut_rows(source, signal.first, signal.count, begin + first * hop_, 0, samples, padded, 1,
                 samples, stream);
        forward_plan(end - first)->execute(padded, spectra, area, stream);
        return {spectra, first, end - first};
    }

    void store(const Sample* rows, char* area, RowResults results, const FilterResult& result,
               index_t s, index_t f, cudaStream_t stream) const {
        const index_t to = s * result.signal_stride + f * result.filter_stride;
        char* const target = static_cast<char*>(result.data) + to * result_bytes(work_);
        index_t* const positions = result.peak_positions ? result.peak_positions + to : nullptr;
        if (!work_.function)
            return store_rows<Real>(rows, results, target, positions, result.range.begin, stream);

        // The function's results, packed into the work area, are stored from there.
        const auto* const own =
            static_cast<const FunctionKernels*>(work_.function->device_kernels());
        for (index_t row = 0; row * hop_ < results.count; ++row)
            check(own->apply(*own, rows + row * result_pitch_ + skip_,
                             area + row * hop_ * result_bytes(work_), hop_, stream),
                  "a caller's function");
        results.skip = 0;
        results.pitch = hop_;
        if (is_complex(work_.result_type()))
            store_rows<Real>(reinterpret_cast<const Complex<Real>*>(area), results, target,
                             positions, result.range.begin, stream);
        else
            store_rows<Real>(reinterpret_cast<const Real*>(area), results, target, positions,
                             result.range.begin, stream);
    }

    /// Plans are kept for the batches in use: few, at the ends of signals and between them.
    using Plans = std::map<index_t, std::shared_ptr<const RowPlan>>;
    template <class Make>
    std::shared_ptr<const RowPlan> find_plan(Plans& plans, index_t rows, const Make& make) const {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<const RowPlan>& plan = plans[rows];
        if (plan) return plan;
        plan = std::make_shared<const RowPlan>(make());
        const auto made = plan;
        if (plans.size() > 8) {
            plans.clear();
            plans[rows] = made;
        }
        return made;
    }
    std::shared_ptr<const RowPlan> forward_plan(index_t rows) const {
        return find_plan(forward_plans_, rows, [&] {
            return RowPlan::make<Real, Sample>(RowDirection::forward, n_, rows, hop_, bins_);
        });
    }
    std::shared_ptr<const RowPlan> inverse_plan(index_t rows) const {
        return find_plan(inverse_plans_, rows, [&] {
            return RowPlan::make<Real, Sample>(RowDirection::inverse, n_, rows, bins_,
                                               result_pitch_);
        });
    }

    FilterWork work_;
    FilterRates rates_;
    index_t n_ = 0, hop_ = 0, skip_ = 0, partitions_ = 1, bins_ = 0, result_pitch_ = 0;
    DevicePool::Lease spectra_;
    index_t bytes_ = 0;
    mutable std::mutex mutex_;
    mutable Plans forward_plans_, inverse_plans_;
};

}  // namespace

std::unique_ptr<DeviceFilters> make_cufft_filters(const FilterWork& work, const void* taps,
                                                  const FilterRates& rates, DevicePool& pool,
                                                  cudaStream_t stream) {
    const auto make = [&](auto real) -> std::unique_ptr<DeviceFilters> {
        using Real = decltype(real);
        if (work.complex_data)
            return std::make_unique<CufftFilters<Real, Complex<Real>>>(work, taps, rates, pool,
                                                                       stream);
        return std::make_unique<CufftFilters<Real, Real>>(work, taps, rates, pool, stream);
    };
    return work.precision == Precision::float32 ? make(float{}) : make(double{});
}

}  // namespace convolume::gpu
