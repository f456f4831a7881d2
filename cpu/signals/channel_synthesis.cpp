// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/buffer_pool.hpp"
#include "core/threads.hpp"
#include "cpu/signals/channel_sums.hpp"
#include "cpu/signals/channel_transforms.hpp"
#include "cpu/signals/channels.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

namespace {

// Samples are computed in sections. First the frames that a section depends on are transformed
// back, one row each, without those that the last section has left. Then every block of samples
// adds up its part of these rows, by increasing frame.
template <class Real>
class Synthesis : public ChannelSynthesis {
  public:
    Synthesis(const ChannelSpec& spec, const std::vector<double>& taps, FftLibrary fft)
        : spec_(spec),
          parts_(spec.complex_data ? 2 : 1),
          transforms_(spec.channels,
                      spec.complex_data ? TransformKind::inverse : TransformKind::real_inverse,
                      fft) {
        for (index_t i = spec.taps(); i-- > 0;)
            for (index_t part = 0; part < parts_; ++part)
                taps_.push_back(static_cast<Real>(taps[static_cast<std::size_t>(i)]));
    }

    std::string method() const override {
        return message(transforms_.method(), ", polyphase sums");
    }

    void run(const ChannelFrames<const void*>& frames, const SampleRange& range, void* samples,
             int threads, const ExecutionContext& context) const override {
        const index_t overlapping = ceil_div(spec_.taps(), spec_.step) + 1;
        const index_t at_once = std::max(2 * overlapping, ceil_div(samples_of_section, spec_.step));
        const index_t rows_in_memory = at_once + overlapping;
        const index_t pitch = row_pitch(), each = scratch_reals();
        const auto memory =
            memory_.take(bytes_of<Real>(checked_multiply(pitch, rows_in_memory) + each * threads),
                         threads, "putting a signal together");
        Section section{static_cast<Real*>(memory.data()), {0, 0}};
        Real* const scratch = section.rows + pitch * rows_in_memory;
        const index_t sections = ceil_div(range.count(), at_once * spec_.step);
        for (index_t s = 0; s < sections; ++s) {
            const index_t begin = range.begin + s * at_once * spec_.step;
            const SampleRange part{begin, std::min(range.end, begin + at_once * spec_.step)};
            const double done = static_cast<double>(s) / static_cast<double>(sections);
            const double half = 0.5 / static_cast<double>(sections);
            const ParallelLoop loop(threads, context);
            transform_frames(frames, part, section, scratch, loop, {done, done + half});
            auto* const to = static_cast<Real*>(samples) + parts_ * (begin - range.begin);
            add_frames(section, part, to, loop, {done + half, done + 2 * half});
        }
    }

  private:
    static constexpr index_t samples_of_section = index_t{1} << 18;
    static constexpr index_t samples_of_block = 4096;
    static constexpr index_t group = ChannelTransforms<Real>::most_rows;

    /// Rows of the frames that a section of samples depends on.
    struct Section {
        Real* rows;
        SampleRange frames;
    };
    /// Share of the progress.
    struct Progress {
        double begin, end;
    };

    index_t row_reals() const { return parts_ * spec_.channels; }
    // Rows also hold spectra, of two real numbers more than real samples.
    index_t row_pitch() const { return round_up(row_reals() + 2, index_t{16}) + 16; }
    index_t scratch_reals() const {
        return round_up(group * row_pitch() + transforms_.scratch_reals(), index_t{16}) + 80;
    }

    // Returns the frames that samples depend on, among those that are given.
    SampleRange needed(const ChannelFrames<const void*>& frames, const SampleRange& samples) const {
        const auto first_after = [&](index_t sample) {  // least n with last_sample(n) >= sample
            return sample <= spec_.first ? 0 : ceil_div(sample - spec_.first, spec_.step);
        };
        const index_t begin = std::max(frames.range.begin, first_after(samples.begin));
        const index_t end = std::min(frames.range.end, first_after(samples.end + spec_.taps() - 1));
        return {begin, std::max(begin, end)};
    }

    void transform_frames(const ChannelFrames<const void*>& frames, const SampleRange& samples,
                          Section& section, Real* scratch, const ParallelLoop& loop,
                          const Progress& progress) const {
        const SampleRange wanted = needed(frames, samples);
        const index_t kept =
            std::clamp<index_t>(section.frames.end - wanted.begin, 0, wanted.count());
        const index_t pitch = row_pitch();
        std::copy_n(section.rows + pitch * (section.frames.count() - kept), pitch * kept,
                    section.rows);
        section.frames = wanted;
        const index_t first = wanted.begin + kept, count = wanted.end - first;
        loop.run(ceil_div(count, group), progress.begin, progress.end, [&](index_t g, int thread) {
            Real* const spectra = scratch + thread * scratch_reals();
            const index_t rows = std::min(group, count - g * group);
            for (index_t r = 0; r < rows; ++r) {
                const index_t frame = first + g * group + r - frames.range.begin;
                copy_spectrum(static_cast<const Real*>(frames.data) + 2 * frame * frames.stride,
                              spectra + r * pitch);
            }
            transforms_.run(
                {spectra, pitch, section.rows + pitch * (kept + g * group), pitch, rows},
                spectra + group * pitch);
        });
    }

    // The bins 0 and M/2 of real signals are real.
    void copy_spectrum(const Real* from, Real* to) const {
        std::copy_n(from, 2 * spec_.stored_channels(), to);
        if (spec_.complex_data) return;
        to[1] = 0;
        if (spec_.channels % 2 == 0) to[spec_.channels + 1] = 0;
    }

    void add_frames(const Section& section, const SampleRange& samples, Real* to,
                    const ParallelLoop& loop, const Progress& progress) const {
        loop.run(ceil_div(samples.count(), samples_of_block), progress.begin, progress.end,
                 [&](index_t b, int) {
                     const index_t begin = samples.begin + b * samples_of_block;
                     add_block(section, {begin, std::min(samples.end, begin + samples_of_block)},
                               to + parts_ * (begin - samples.begin));
                 });
    }

    void add_block(const Section& section, const SampleRange& samples, Real* to) const {
        std::fill_n(to, parts_ * samples.count(), Real(0));
        for (index_t n = section.frames.begin; n < section.frames.end; ++n) {
            const index_t start = spec_.first_sample(n);
            const index_t begin = std::max(samples.begin, start);
            const index_t end = std::min(samples.end, spec_.last_sample(n) + 1);
            const Real* const row = section.rows + row_pitch() * (n - section.frames.begin);
            for (index_t t = begin; t < end;) {
                const index_t phase = t % spec_.channels;
                const index_t count = std::min(end - t, spec_.channels - phase);
                add_products(taps_.data() + parts_ * (t - start), row + parts_ * phase,
                             to + parts_ * (t - samples.begin), parts_ * count);
                t += count;
            }
        }
    }

    ChannelSpec spec_;
    index_t parts_;  // real numbers of a sample
    ChannelTransforms<Real> transforms_;
    AlignedTable<Real> taps_;  // backward, for every real number
    mutable BufferPool memory_;
};

}  // namespace

std::unique_ptr<const ChannelSynthesis> make_channel_synthesis(const ChannelSpec& spec,
                                                               const std::vector<double>& taps,
                                                               FftLibrary fft) {
    if (spec.precision == Precision::float32)
        return std::make_unique<const Synthesis<float>>(spec, taps, fft);
    return std::make_unique<const Synthesis<double>>(spec, taps, fft);
}

}  // namespace convolume::cpu
