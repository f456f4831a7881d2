// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "convolume/error.hpp"
#include "core/buffer_pool.hpp"
#include "core/pixels/contiguous.hpp"
#include "core/threads.hpp"
#include "cpu/signals/channel_sums.hpp"
#include "cpu/signals/channel_transforms.hpp"
#include "cpu/signals/channels.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

namespace {

// Frames are computed in groups. A group's sums are a line of the cache at a time, for all taps and
// frames_at_once frames; then its rows are transformed. Rows begin at the position of their first
// sample in the transform, and what lies beyond the transform's end is moved to its beginning.
template <class Real>
class Analysis : public ChannelAnalysis {
  public:
    Analysis(const ChannelSpec& spec, const std::vector<double>& taps, FftLibrary fft)
        : spec_(spec),
          parts_(spec.complex_data ? 2 : 1),
          row_(parts_ * spec.channels),
          blocks_(ceil_div(row_, block)),
          row_pitch_(round_up(2 * row_ + block, block) + 3 * block),
          transforms_(spec.channels,
                      spec.complex_data ? TransformKind::forward : TransformKind::real_forward,
                      fft),
          taps_(static_cast<std::size_t>(blocks_ * spec.taps_per_channel * block)) {
        // The window meets the prototype backward.
        for (index_t b = 0; b < blocks_; ++b)
            for (index_t q = 0; q < spec.taps_per_channel; ++q)
                for (index_t i = 0; i < block; ++i) {
                    const index_t j = b * block + i;  // real number of a row
                    if (j >= row_) continue;
                    const index_t l = spec.taps() - 1 - q * spec.channels - j / parts_;
                    taps_[static_cast<std::size_t>((b * spec.taps_per_channel + q) * block + i)] =
                        static_cast<Real>(taps[static_cast<std::size_t>(l)]);
                }
    }

    std::string method() const override {
        return message("polyphase sums, ", transforms_.method());
    }

    bool run(const ChannelSamples& samples, const ChannelFrames<void*>& frames, bool checks_finite,
             int threads, const ExecutionContext& context) const override {
        const index_t groups = ceil_div(frames.range.count(), group);
        // Short frames are computed in tasks of many groups.
        const index_t per_task = ceil_div(samples_of_task, group * spec_.step);
        const index_t tasks = ceil_div(groups, per_task);
        const int workers = static_cast<int>(std::clamp<index_t>(tasks, 1, threads));
        const index_t pitch = round_up(scratch_reals(), block) + 5 * block;
        const auto scratch = memory_.take(bytes_of<Real>(checked_multiply(pitch, workers)), workers,
                                          "dividing a signal into channels");
        std::atomic<bool> is_finite{true};
        ParallelLoop(workers, context).run(tasks, 0, 1, [&](index_t task, int thread) {
            const index_t last = std::min((task + 1) * per_task, groups);
            for (index_t g = task * per_task; g < last; ++g) {
                const SampleRange some{
                    frames.range.begin + g * group,
                    std::min(frames.range.begin + (g + 1) * group, frames.range.end)};
                if (checks_finite && !finite(samples, some, g == 0)) is_finite = false;
                compute_group(samples, some,
                              static_cast<Real*>(frames.data) + 2 * g * group * frames.stride,
                              frames.stride, static_cast<Real*>(scratch.data()) + thread * pitch);
            }
        });
        return is_finite;
    }

  private:
    static constexpr index_t block = phase_block<Real>;
    static constexpr index_t group = ChannelTransforms<Real>::most_rows;
    static constexpr index_t samples_of_task = 16384;  // least number, beside the taps

    index_t scratch_reals() const {
        return window_reals() + group * row_pitch_ + transforms_.scratch_reals();
    }

    // Sums read a whole block of phases also at the end of a row.
    index_t window_samples(index_t frames) const {
        return spec_.taps() + (frames - 1) * spec_.step;
    }
    index_t window_reals() const { return round_up(parts_ * window_samples(group) + block, block); }

    // Checks the samples that no frame before the range depends on, or all samples of the frames.
    bool finite(const ChannelSamples& samples, const SampleRange& range, bool all) const {
        const index_t from =
            all ? spec_.first_sample(range.begin) : spec_.last_sample(range.begin - 1) + 1;
        const index_t first = std::max(from, samples.first);
        const index_t last =
            std::min(spec_.last_sample(range.end - 1) + 1, samples.first + samples.count);
        if (first >= last) return true;
        return pixels::all_finite(
            static_cast<const Real*>(samples.data) + parts_ * (first - samples.first),
            parts_ * (last - first));
    }

    // Returns the samples from first_sample(frame) on, with a block behind them.
    const Real* window(const ChannelSamples& samples, index_t frame, index_t frames,
                       Real* space) const {
        const index_t from = spec_.first_sample(frame), count = window_samples(frames);
        const auto* const given = static_cast<const Real*>(samples.data);
        if (from >= samples.first &&
            from + count + ceil_div(block, parts_) <= samples.first + samples.count)
            return given + parts_ * (from - samples.first);
        const index_t begin = std::clamp<index_t>(samples.first - from, 0, count);
        const index_t end = std::clamp<index_t>(samples.first + samples.count - from, begin, count);
        std::fill(space, space + parts_ * begin, Real(0));
        if (end > begin)
            std::copy_n(given + parts_ * (from + begin - samples.first), parts_ * (end - begin),
                        space + parts_ * begin);
        std::fill(space + parts_ * end, space + parts_ * count + block, Real(0));
        return space;
    }

    void compute_group(const ChannelSamples& samples, const SampleRange& range, Real* target,
                       index_t stride, Real* scratch) const {
        Real* const rows = scratch + window_reals();
        const Real* const from = window(samples, range.begin, range.count(), scratch);
        for (index_t f = 0; f < range.count(); f += frames_at_once) {
            PhaseSums<Real> sums{};
            sums.taps = taps_.data();
            sums.terms = spec_.taps_per_channel;
            sums.window = from + parts_ * f * spec_.step;
            sums.row = row_;
            sums.frame = parts_ * spec_.step;
            sums.blocks = blocks_;
            sums.frames = static_cast<int>(std::min<index_t>(frames_at_once, range.count() - f));
            for (int i = 0; i < sums.frames; ++i)
                sums.targets[i] =
                    rows + (f + i) * row_pitch_ + parts_ * spec_.rotation(range.begin + f + i);
            sum_phases(sums);
        }
        for (index_t f = 0; f < range.count(); ++f) {
            Real* const row = rows + f * row_pitch_;
            std::copy_n(row + row_, parts_ * spec_.rotation(range.begin + f), row);
        }
        transforms_.run({rows, row_pitch_, target, 2 * stride, range.count()},
                        rows + group * row_pitch_);
    }

    ChannelSpec spec_;
    index_t parts_;      // real numbers of a sample
    index_t row_;        // real numbers of the samples of all phases
    index_t blocks_;     // blocks of phases of a row
    index_t row_pitch_;  // real numbers from one row of sums to the next
    ChannelTransforms<Real> transforms_;
    AlignedTable<Real> taps_;
    mutable BufferPool memory_;
};

}  // namespace

std::unique_ptr<const ChannelAnalysis> make_channel_analysis(const ChannelSpec& spec,
                                                             const std::vector<double>& taps,
                                                             FftLibrary fft) {
    if (spec.precision == Precision::float32)
        return std::make_unique<const Analysis<float>>(spec, taps, fft);
    return std::make_unique<const Analysis<double>>(spec, taps, fft);
}

}  // namespace convolume::cpu
