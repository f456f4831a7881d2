// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/cpu_filter_engine.hpp"

#include "core/buffer_pool.hpp"
#include "cpu/signals/cost.hpp"
#include "cpu/signals/methods.hpp"

namespace convolume {

namespace cpu {
namespace {

class CpuFilterEngine : public FilterEngine {
  public:
    explicit CpuFilterEngine(const CpuFilterEngineOptions& options) {
        if (options.threads < 1)
            throw InvalidArgument(
                message("a CPU engine of ", options.threads, " threads: it needs at least 1"));
        info_.name = options.name;
        info_.index = options.index;
        info_.threads = options.threads;
        fft_ = options.fft;
    }

    const EngineInfo& info() const override { return info_; }

    std::optional<FilterCost> estimate(const FilterSpec& spec, index_t signals,
                                       index_t outputs) const override {
        if (spec.method != FilterMethod::automatic)
            return filter_cost(spec, signals, outputs, info_.threads);
        std::optional<FilterCost> best;
        for (const FilterMethod method : {FilterMethod::direct, FilterMethod::overlap_save,
                                          FilterMethod::overlap_add, FilterMethod::partitioned}) {
            FilterSpec tried = spec;
            tried.method = method;
            auto cost = filter_cost(tried, signals, outputs, info_.threads);
            if (cost && (!best || cost->seconds < best->seconds)) best = std::move(cost);
        }
        return best;
    }

    std::shared_ptr<const PreparedFilters> prepare(const FilterSpec& spec,
                                                   const void* taps) override {
        switch (spec.method) {
            case FilterMethod::direct:
                return make_direct_sums(spec, taps);
            case FilterMethod::overlap_save:
                return make_overlap_save(spec, taps, fft_);
            case FilterMethod::overlap_add:
                return make_overlap_add(spec, taps, fft_);
            case FilterMethod::partitioned:
                return make_partitioned(spec, taps, fft_);
            case FilterMethod::automatic:
                break;
        }
        throw InternalError("filters are prepared for a method that was chosen");
    }

    void filter(const FilterSpec& spec, const PreparedFilters& filters, const SignalView& signal,
                const FilterResult& result, const ExecutionContext& context) override {
        const auto* const prepared = dynamic_cast<const CpuFilters*>(&filters);
        if (!prepared) throw InternalError("a CPU engine was given another engine's filters");
        throw_if_stopped(context);
        const PhaseTimer timer(context.timeline, Phase::convolve, info_.index, 0);
        prepared->filter(spec, signal, result, {memory_, info_.threads, context});
        if (context.progress) context.progress(1);
    }

  private:
    EngineInfo info_;
    FftLibrary fft_;
    BufferPool memory_;
};

}  // namespace
}  // namespace cpu

std::shared_ptr<FilterEngine> make_cpu_filter_engine(const CpuFilterEngineOptions& options) {
    return std::make_shared<cpu::CpuFilterEngine>(options);
}

}  // namespace convolume
