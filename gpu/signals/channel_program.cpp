// SPDX-License-Identifier: Apache-2.0
// Polyphase filter banks between arrays in device memory: one CUDA kernel for channel numbers that
// fit shared memory, or sums and cuFFT for others.

#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/backend.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/cufft_library.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/signals/channel_kernel.hpp"
#include "gpu/signals/channel_kernels.hpp"
#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

namespace {

// Sums of real signals that cuFFT transforms at once.
constexpr index_t most_sum_bytes = index_t{256} << 20;

ChannelInput input_of(const DeviceChannelSpec& spec) {
    switch (spec.stored) {
        case PixelType::int8:
            return ChannelInput::pairs8;
        case PixelType::int16:
            return ChannelInput::pairs16;
        default:
            return spec.sizes.complex_data ? ChannelInput::complex : ChannelInput::real;
    }
}

template <class Real>
class ChannelProgram : public DeviceChannelProgram {
  public:
    explicit ChannelProgram(const DeviceChannelSpec& spec)
        : spec_(spec), pool_(spec.device, 0), input_(input_of(spec)) {
        const DeviceScope scope(spec.device);
        const CudaStream stream;
        const index_t taps_bytes = bytes_of<Real>(spec.sizes.taps());
        std::vector<Real> backward(spec.taps.rbegin(), spec.taps.rend());
        taps_ = pool_.take(taps_bytes, "the prototype");
        copy_to_device(taps_.get(), backward.data(), taps_bytes, stream);
        bytes_ = taps_bytes;
        for (const ChannelCudaKernel& kernel : channel_cuda_kernels<Real>())
            if (!cuda_kernel_ && takes(kernel)) cuda_kernel_ = &kernel;
        if (cuda_kernel_) {
            allow_shared_bytes(cuda_kernel_->kernel, cuda_kernel_->shared_bytes,
                               "setting the shared memory of frames");
            twiddles_ = device_twiddles<Real>(segment_plan(cuda_kernel_->channels), stream);
        } else {
            plan_transforms();
        }
        stream.wait();
    }

    index_t bytes() const override { return bytes_; }
    std::string method() const override {
        if (cuda_kernel_ == nullptr) return "polyphase sums, cuFFT";
        return walks_ > 0 ? "one pass, sums and transforms in shared memory"
                          : "sums and transforms in shared memory";
    }

    void run(const void* signals, void* frames, void* stream) override {
        if (spec_.frames == 0) return;
        const DeviceScope scope(spec_.device);
        const auto cuda_stream = static_cast<cudaStream_t>(stream);
        if (cuda_kernel_) return run_kernel(signals, frames, cuda_stream);
        order_.run(cuda_stream, [&] { run_by_parts(signals, frames, cuda_stream); });
    }

  private:
    static constexpr bool single = sizeof(Real) == 4;

    /// Whether a kernel suits the frames and the GPU. Sets `walks_`.
    bool takes(const ChannelCudaKernel& kernel) {
        const ChannelSpec& sizes = spec_.sizes;
        if (kernel.channels != sizes.channels) return false;
        if (kernel.walks() &&
            (sizes.step != sizes.channels || sizes.taps_per_channel > kernel.terms ||
             spec_.frames < kernel.fewest_frames))
            return false;
        // Loads the kernel, which takes time.
        if (!can_run(kernel.kernel, kernel.shared_bytes, spec_.device)) return false;
        if (!kernel.walks()) return true;
        const index_t blocks = resident_blocks(kernel.kernel, kernel.threads, kernel.shared_bytes);
        const index_t planned =
            index_t{device_properties(spec_.device).processors} * kernel.blocks_per_unit;
        const index_t frames = checked_multiply(spec_.signals, spec_.frames);
        if (blocks >= planned && frames / blocks >= kernel.fewest_frames) walks_ = blocks;
        return walks_ > 0;
    }

    ChannelJob<Real> job() const {
        const ChannelSpec& sizes = spec_.sizes;
        ChannelJob<Real> job;
        job.input = input_;
        job.source_stride = job.samples = spec_.samples;
        job.taps = reinterpret_cast<const Real*>(taps_.get());
        job.frames = spec_.frames;
        job.first = sizes.first;
        job.channels = static_cast<int>(sizes.channels);
        job.step = static_cast<int>(sizes.step);
        job.terms = static_cast<int>(sizes.taps_per_channel);
        job.stored = static_cast<int>(sizes.stored_channels());
        return job;
    }

    static void launch(const void* kernel, index_t blocks, int threads, index_t shared_bytes,
                       ChannelJob<Real>& job, cudaStream_t stream) {
        void* arguments[] = {&job};
        check(cudaLaunchKernel(kernel,
                               dim3(grid_of(blocks, "frames", ": divide the signal into blocks")),
                               dim3(static_cast<unsigned>(threads)), arguments,
                               static_cast<std::size_t>(shared_bytes), stream),
              "dividing a signal into channels");
    }

    void run_kernel(const void* signals, void* frames, cudaStream_t stream) const {
        ChannelJob<Real> job = this->job();
        job.source = signals;
        job.target = frames;
        job.target_row = job.stored;
        job.twiddles = twiddles_;
        job.groups = ceil_div(spec_.frames, cuda_kernel_->frames);
        job.all_groups = checked_multiply(spec_.signals, job.groups);
        launch(cuda_kernel_->kernel, cuda_kernel_->walks() ? walks_ : job.all_groups,
               cuda_kernel_->threads, cuda_kernel_->shared_bytes, job, stream);
    }

    // Complex sums lie where the frames go, and are transformed in place.
    void plan_transforms() {
        const ChannelSpec& sizes = spec_.sizes;
        const index_t row_bytes = bytes_of<Real>(sizes.channels);
        at_once_ = std::max<index_t>(spec_.frames, 1);
        if (!sizes.complex_data) {
            at_once_ = std::clamp<index_t>(most_sum_bytes / row_bytes, 1, at_once_);
            sums_ = pool_.take(checked_multiply(at_once_, row_bytes), "sums of phases");
            bytes_ += at_once_ * row_bytes;
        }
        transforms_ = plan_of(at_once_);
        index_t work_bytes = transforms_.work_bytes();
        if (const index_t rest = spec_.frames % at_once_; rest > 0) {
            last_transforms_ = plan_of(rest);
            work_bytes = std::max(work_bytes, last_transforms_.work_bytes());
        }
        work_ = pool_.take(std::max<index_t>(work_bytes, 1), "transforms of frames");
        bytes_ += work_bytes;
    }

    CufftPlan plan_of(index_t rows) const {
        long long n = spec_.sizes.channels, bins = spec_.sizes.stored_channels();
        if (spec_.sizes.complex_data)
            return CufftPlan(1, &n, {&n, n}, {&n, n}, single ? CUFFT_C2C : CUFFT_Z2Z, rows);
        return CufftPlan(1, &n, {&n, n}, {&bins, bins}, single ? CUFFT_R2C : CUFFT_D2Z, rows);
    }

    void run_by_parts(const void* signals, void* frames, cudaStream_t stream) const {
        const ChannelSpec& sizes = spec_.sizes;
        const index_t sample = spec_.sample_bytes();
        for (index_t s = 0; s < spec_.signals; ++s)
            for (index_t begin = 0; begin < spec_.frames; begin += at_once_) {
                const index_t rows = std::min(at_once_, spec_.frames - begin);
                auto* const target = static_cast<Complex<Real>*>(frames) +
                                     (s * spec_.frames + begin) * sizes.stored_channels();
                void* const sums = sizes.complex_data ? static_cast<void*>(target) : sums_.get();
                ChannelJob<Real> job = this->job();
                job.source = static_cast<const char*>(signals) + s * spec_.samples * sample;
                job.target = sums;
                job.target_row = sizes.channels;
                job.frames = rows;
                job.first = sizes.last_sample(begin);
                job.groups = ceil_div(rows, ChannelSumShape::frames);
                const index_t widths = ceil_div(sizes.channels, ChannelSumShape::threads);
                launch(channel_sum_cuda_kernel<Real>(), checked_multiply(widths, job.groups),
                       ChannelSumShape::threads, 0, job, stream);
                const CufftPlan& plan = rows == at_once_ ? transforms_ : last_transforms_;
                plan.execute(sums, target, work_.get(), CUFFT_FORWARD, stream);
            }
    }

    DeviceChannelSpec spec_;
    DevicePool pool_;
    ChannelInput input_;
    const ChannelCudaKernel* cuda_kernel_ = nullptr;
    index_t walks_ = 0;  ///< number of thread blocks of walk_frames(); 0: it is not used
    DevicePool::BorrowedMemory taps_;
    const Complex<Real>* twiddles_ = nullptr;
    index_t bytes_ = 0;
    // By parts:
    StreamOrder order_;
    index_t at_once_ = 1;  ///< frames that are transformed at once
    DevicePool::BorrowedMemory sums_, work_;
    CufftPlan transforms_, last_transforms_;
};

}  // namespace

std::unique_ptr<DeviceChannelProgram> make_device_channel_program(const DeviceChannelSpec& spec) {
    require_device(spec.device);
    if (spec.sizes.precision == Precision::float32)
        return std::make_unique<ChannelProgram<float>>(spec);
    return std::make_unique<ChannelProgram<double>>(spec);
}

}  // namespace convolume::gpu
