// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/cpu_engine.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include "core/buffer_pool.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/direct.hpp"
#include "cpu/volumes/fft_block.hpp"
#include "cpu/volumes/separable.hpp"

namespace convolume {

namespace cpu {
namespace {

class CpuEngine : public Engine {
  public:
    explicit CpuEngine(const CpuEngineOptions& options) {
        if (options.threads < 1)
            throw InvalidArgument(
                message("a CPU engine of ", options.threads, " threads: it needs at least 1"));
        info_.name = options.name;
        info_.index = options.index;
        info_.threads = options.threads;
        info_.memory_limit_bytes = options.memory_limit_bytes;
        info_.rates = options.rates;
        fft_ = options.fft;
    }

    const EngineInfo& info() const override { return info_; }

    BlockCost estimate(const Block& block) const override {
        return estimate_cost(block, info_.threads, info_.rates);
    }

    std::shared_ptr<const EngineKernel> prepare(const Block& block, const ConstImageView& taps,
                                                bool /*once*/) override {
        if (block.algorithm == Algorithm::separable)
            return make_separable_kernel(taps, block.precision);
        if (block.algorithm == Algorithm::direct) return make_direct_kernel(taps, block);
        return block.precision == Precision::float32 ? prepare_in<float>(block, taps)
                                                     : prepare_in<double>(block, taps);
    }

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override {
        const auto* const prepared = dynamic_cast<const CpuKernel*>(&kernel);
        if (!prepared) throw InternalError("a CPU engine was given another engine's kernel");
        throw_if_stopped(context);
        const index_t bytes = workspace_layout(block, info_.threads).total_bytes;
        const BufferPool::BorrowedBuffer workspace = [&] {
            const PhaseTimer timer(context.timeline, Phase::allocate, info_.index, task, bytes);
            return workspaces_.take(bytes, info_.threads, "a workspace");
        }();
        const PhaseTimer timer(context.timeline, Phase::convolve, info_.index, task);
        return prepared->convolve(block, input, output, static_cast<char*>(workspace.data()),
                                  info_.threads, context);
    }

    void release_workspaces() override { workspaces_.release(); }
    void keep_ffts() { ffts_stay_ = true; }

  private:
    template <class Real>
    std::shared_ptr<const EngineKernel> prepare_in(const Block& block, const ConstImageView& taps) {
        // Planning and transforming use a workspace, as executions do.
        const WorkspaceLayout memory = workspace_layout(block, info_.threads);
        const BufferPool::BorrowedBuffer workspace =
            workspaces_.take(memory.total_bytes, info_.threads, "a workspace");
        char* const scratch = static_cast<char*>(workspace.data()) + memory.spectrum_bytes;
        return make_fft_kernel<Real>(
            transforms<Real>(block, {static_cast<std::complex<Real>*>(workspace.data()), scratch}),
            taps, info_.threads, {scratch, memory.scratch_bytes});
    }

    // Returns FFT plans, which all living kernels of the same grid share.
    template <class Real>
    std::shared_ptr<ImprovingFft<Real>> transforms(const Block& block,
                                                   const PlanningMemory<Real>& memory) {
        const std::lock_guard lock(plans_mutex_);
        auto& plans = std::get<PlanCache<Real>>(plans_);
        const Shape3 grid = block.grid();
        auto& cached = plans[{grid.z, grid.y, grid.x, block.complex_data}];
        auto fft = cached.lock();
        if (!fft)
            cached = fft = make_fft<Real>({grid, block.complex_data}, fft_,
                                          estimate(block).compute_s, ffts_stay_, memory);
        return fft;
    }

    template <class Real>
    using PlanCache =
        std::map<std::tuple<index_t, index_t, index_t, bool>, std::weak_ptr<ImprovingFft<Real>>>;

    EngineInfo info_;
    FftLibrary fft_;
    BufferPool workspaces_;
    std::atomic<bool> ffts_stay_{false};
    std::mutex plans_mutex_;
    std::tuple<PlanCache<float>, PlanCache<double>> plans_;
};

}  // namespace
}  // namespace cpu

std::shared_ptr<Engine> make_cpu_engine(const CpuEngineOptions& options) {
    return std::make_shared<cpu::CpuEngine>(options);
}

void keep_ffts(Engine& engine) {
    if (auto* const on_cpu = dynamic_cast<cpu::CpuEngine*>(&engine)) on_cpu->keep_ffts();
}

}  // namespace convolume
