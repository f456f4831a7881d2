// SPDX-License-Identifier: Apache-2.0
// Signals put together from frames in device memory: cuFFT transforms some frames back into a
// workspace, and a CUDA kernel computes the samples that depend on no others.

#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/cufft_library.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/signals/channel_kernels.hpp"
#include "gpu/signals/device_filters.hpp"
#include "gpu/signals/synthesis_kernel.hpp"

namespace convolume::gpu {

namespace {

// Parts of a signal begin at multiples of this, so that warps store whole lines.
constexpr index_t part_alignment = 32;

template <class Real>
class SynthesisProgram : public DeviceChannelProgram {
  public:
    explicit SynthesisProgram(const DeviceSynthesisSpec& spec)
        : spec_(spec),
          pool_(spec.device, 0),
          pattern_(synthesis_pattern<Real>(static_cast<int>(spec.sizes.channels),
                                           static_cast<int>(spec.sizes.step),
                                           static_cast<int>(spec.sizes.taps_per_channel))) {
        const ChannelSpec& sizes = spec.sizes;
        if (spec.samples > 0)
            needed_ = std::min(spec.frames, sizes.frames(spec.samples + sizes.taps() - 1));
        choose_parts();
        const DeviceScope scope(spec.device);
        const CudaStream stream;
        const std::vector<Real> taps(spec.taps.begin(), spec.taps.end());
        const index_t taps_bytes = bytes_of<Real>(sizes.taps());
        taps_ = pool_.take(taps_bytes, "the taps of a synthesis");
        copy_to_device(taps_.get(), taps.data(), taps_bytes, stream);
        bytes_ = taps_bytes;
        if (!reads_frames_directly() && needed_ > 0) plan_transforms();
        stream.wait();
    }

    index_t bytes() const override { return bytes_; }
    std::string method() const override { return "cuFFT, polyphase sums"; }

    void run(const void* frames, void* signals, void* stream) override {
        if (spec_.samples == 0) return;
        const DeviceScope scope(spec_.device);
        const auto cuda_stream = static_cast<cudaStream_t>(stream);
        order_.run(cuda_stream, [&] {
            for (index_t s = 0; s < spec_.signals; s += signals_at_once_) {
                // The last ones are computed with signals before them: all transforms are one plan.
                const index_t signal = std::min(s, spec_.signals - signals_at_once_);
                join_signals(signal, static_cast<const Complex<Real>*>(frames), signals,
                             cuda_stream);
            }
        });
    }

  private:
    static constexpr bool single = sizeof(Real) == 4;

    bool complex_data() const { return spec_.sizes.complex_data; }
    // A transform of length 1 changes nothing. Frames of real signals are copied in any case.
    bool reads_frames_directly() const { return spec_.sizes.channels == 1 && complex_data(); }
    // Real numbers from one row to the next. Rows of real samples lie where their frames were.
    index_t row_reals() const { return 2 * spec_.sizes.stored_channels(); }

    // Consecutive parts transform the frames again that both depend on.
    void choose_parts() {
        const ChannelSpec& sizes = spec_.sizes;
        const index_t row_bytes = bytes_of<Real>(row_reals());
        const index_t common = ceil_div(sizes.taps(), sizes.step) + 1;
        const index_t by_bytes = spec_.part_bytes / row_bytes;
        const index_t rows = std::max({by_bytes, std::min(4 * common, 4 * by_bytes), 2 * common});
        rows_ = reads_frames_directly() ? needed_ : std::min(rows, needed_);
        if (rows_ == needed_ && needed_ == spec_.frames && !reads_frames_directly())
            signals_at_once_ =
                std::clamp<index_t>(rows / std::max<index_t>(rows_, 1), 1, spec_.signals);
    }

    void plan_transforms() {
        const index_t rows = checked_multiply(rows_, signals_at_once_);
        const index_t memory_bytes = bytes_of<Real>(checked_multiply(rows, row_reals()));
        memory_ = pool_.take(memory_bytes, "transformed frames");
        bytes_ += memory_bytes;
        if (spec_.sizes.channels == 1) return;
        long long n = spec_.sizes.channels, bins = spec_.sizes.stored_channels();
        long long row = row_reals();
        transforms_ = complex_data()
                          ? CufftPlan(1, &n, {&n, n}, {&n, n}, single ? CUFFT_C2C : CUFFT_Z2Z, rows)
                          : CufftPlan(1, &n, {&bins, bins}, {&row, row},
                                      single ? CUFFT_C2R : CUFFT_Z2D, rows);
        const index_t work_bytes = std::max<index_t>(transforms_.work_bytes(), 1);
        work_ = pool_.take(work_bytes, "transforms of frames");
        bytes_ += work_bytes;
    }

    template <class Job>
    static void launch(const void* kernel, index_t blocks, Job& job, cudaStream_t stream) {
        void* arguments[] = {&job};
        check(cudaLaunchKernel(
                  kernel, dim3(grid_of(blocks, "samples", ": divide the frames into blocks")),
                  dim3(static_cast<unsigned>(SynthesisPattern::threads)), arguments, 0, stream),
              "putting a signal together");
    }

    void join_signals(index_t signal, const Complex<Real>* frames, void* signals,
                      cudaStream_t stream) const {
        const ChannelSpec& sizes = spec_.sizes;
        for (index_t done = 0; done < spec_.samples;) {
            // Frames before `begin` end before sample `done`.
            const index_t begin = std::min(sizes.frames(done), needed_ - rows_);
            const index_t end_frame = begin + rows_;
            index_t end = spec_.samples;
            if (end_frame < needed_) {
                end = std::min(end, sizes.first_sample(end_frame));
                const index_t aligned = end / part_alignment * part_alignment;
                if (aligned > done && end < spec_.samples) end = aligned;
            }
            const auto* const from =
                frames + (signal * spec_.frames + begin) * sizes.stored_channels();
            SynthesisJob<Real> job = this->job();
            job.rows = transformed(from, stream);
            job.rows_begin = begin;
            job.rows_end = end_frame;
            job.target = static_cast<char*>(signals) +
                         signal * spec_.samples * sample_bytes(sizes.signal_type());
            job.begin = done;
            job.end = end;
            job.blocks = pattern_.blocks(end - done);
            launch(join_cuda_kernel<Real>(pattern_.slides, complex_data()),
                   checked_multiply(job.blocks, signals_at_once_), job, stream);
            done = end;
        }
    }

    SynthesisJob<Real> job() const {
        const ChannelSpec& sizes = spec_.sizes;
        SynthesisJob<Real> job;
        job.row = complex_data() ? sizes.channels : row_reals();
        job.signal_rows = rows_;
        job.taps = reinterpret_cast<const Real*>(taps_.get());
        job.target_stride = spec_.samples;
        job.first = sizes.first;
        job.channels = static_cast<int>(sizes.channels);
        job.step = static_cast<int>(sizes.step);
        job.terms = static_cast<int>(sizes.taps_per_channel);
        return job;
    }

    // Enqueues the transforms of the frames of one part, and returns where their rows are.
    const void* transformed(const Complex<Real>* frames, cudaStream_t stream) const {
        if (reads_frames_directly() || rows_ == 0) return frames;
        // cuFFT does not change the source of complex transforms.
        void* source = const_cast<Complex<Real>*>(frames);
        if (!complex_data()) {
            FrameCopyJob<Real> job;
            job.frames = frames;
            job.copies = reinterpret_cast<Complex<Real>*>(memory_.get());
            job.values = rows_ * signals_at_once_ * spec_.sizes.stored_channels();
            job.channels = static_cast<int>(spec_.sizes.channels);
            launch(frame_copy_cuda_kernel<Real>(),
                   ceil_div(job.values, index_t{SynthesisPattern::threads}), job, stream);
            source = memory_.get();
        }
        if (spec_.sizes.channels > 1)
            transforms_.execute(source, memory_.get(), work_.get(), CUFFT_INVERSE, stream);
        return memory_.get();
    }

    DeviceSynthesisSpec spec_;
    DevicePool pool_;
    SynthesisPattern pattern_;
    index_t needed_ = 0;           ///< frames that samples depend on
    index_t rows_ = 0;             ///< frames of a signal that are transformed at a time
    index_t signals_at_once_ = 1;  ///< several only if a part holds all of their frames
    DevicePool::BorrowedMemory taps_, memory_, work_;
    index_t bytes_ = 0;
    CufftPlan transforms_;
    StreamOrder order_;
};

}  // namespace

std::unique_ptr<DeviceChannelProgram> make_device_synthesis_program(
    const DeviceSynthesisSpec& spec) {
    require_device(spec.device);
    if (spec.sizes.precision == Precision::float32)
        return std::make_unique<SynthesisProgram<float>>(spec);
    return std::make_unique<SynthesisProgram<double>>(spec);
}

}  // namespace convolume::gpu
